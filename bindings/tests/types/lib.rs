//! Types of the manifests, as `keyfold types --lang rust` writes them. A comment says which error a line must give.
pub mod keyfold_audit;
pub mod keyfold_pets;
pub mod keyfold_projects;
pub mod keyfold_shop;

use keyfold_audit::{
    AuditItem, AuditItemAction, AuditKey, AuditWhenDidUserActOnResource as Asked, AuditWhenDidUserActOnResourceAction as AskedAction,
};
use keyfold_pets::PetsKey;
use keyfold_projects::ProjectsKey;
use keyfold_shop::{ShopCustomerKey, ShopCustomerKeyKind, ShopInPriceRange};

pub fn right() -> (AuditItem, AuditKey, PetsKey, ProjectsKey) {
    let event = AuditItem {
        id: "1".to_owned(),
        action: AuditItemAction::Viewed,
        timestamp: "2017".to_owned(),
        resource_id: Some("123bbb".to_owned()),
        accessed_by: None,
        resource_name: None,
    };
    let pet = PetsKey { owner: "ana".to_owned(), pet_id: "rex".to_owned() };
    let project = ProjectsKey { organisation_id: "acme".to_owned(), project_id: "p1".to_owned() };
    (event, AuditKey { id: "1".to_owned() }, pet, project)
}

pub fn asked() -> Asked {
    let (resource_id, accessed_by) = ("123bbb".to_owned(), "joe1".to_owned());
    Asked { resource_id, action: AskedAction::Viewed, accessed_by, timestamp_begins_with: None }
}

pub fn asked_too_little() -> Asked {
    Asked { resource_id: "123bbb".to_owned(), action: AskedAction::Viewed, timestamp_begins_with: None } // error E0063
}

pub fn asked_wrongly(asked: &mut Asked) {
    asked.action = AskedAction::Seen; // error E0599
    asked.resource = "123bbb".to_owned(); // error E0609
    asked.accessed_by = 7; // error E0308
}

pub fn two_conditions_on_one_attribute() -> ShopInPriceRange {
    ShopInPriceRange { customer_id: "c1".to_owned(), price_gte: None, price_lte: None }
}

pub fn key_of_an_entity() -> ShopCustomerKey {
    ShopCustomerKey { customer_id: "c1".to_owned(), kind: ShopCustomerKeyKind::Customer }
}

pub fn key_without_its_entity() -> ShopCustomerKey {
    ShopCustomerKey { customer_id: "c1".to_owned() } // error E0063
}

pub fn misspelt() -> AuditKey {
    AuditKey { ids: "1".to_owned() } // error E0560
}

pub fn missing() -> PetsKey {
    PetsKey { owner: "ana".to_owned() } // error E0063
}

pub fn wrong(event: &mut AuditItem) {
    event.action = AuditItemAction::Seen; // error E0599
    event.action = "viewed".to_owned(); // error E0308
    event.resource_id = Some(7); // error E0308
    event.acton = AuditItemAction::Viewed; // error E0609
}
