"""Models of all manifests, as `keyfold types --lang pydantic` writes them. A comment says which error a line must give."""

from decimal import Decimal
from typing import Optional

from pydantic import BaseModel, ValidationError

import keyfold
from keyfold_audit import AuditItem
from keyfold_pets import PetsDog, PetsParrot
from keyfold_projects import ProjectsItem, ProjectsKey
from keyfold_shop import SHOP, SHOP_ORDERS_OF, SHOP_TAGGED, ShopCustomer, ShopItem, ShopOrder, ShopTaggedAnswer

order = ShopOrder(kind="order", customerId="c1", orderId="o1", price=Decimal("5.5"), tags={"new"})
customer = ShopCustomer(kind="customer", customerId="c1", name="Ann")
project_key: ProjectsKey = {"organisationId": "acme", "projectId": "p1"}
PETS = [PetsDog(owner="ana", petId="rex", species="dog", born="2015-01-01"), PetsParrot(owner="ana", petId="io", species="parrot", born="2015-01-01", words=7)]


def typed(tables: keyfold.Keyfold, client: object) -> None:
    item: Optional[ShopItem] = tables.get(client, SHOP, SHOP.key({"kind": "order", "customerId": "c1", "orderId": "o1"}))
    first: Optional[ShopOrder] = tables.ask(client, SHOP_ORDERS_OF({"customerId": "c1"})).first()
    picked: Optional[ShopTaggedAnswer] = tables.ask(client, SHOP_TAGGED({"customerId": "c1", "tags.contains": "x"})).first()
    print(item, first, picked)
    SHOP.key({"customerId": "c1", "orderId": "o1"})  # error arg-type
    SHOP_ORDERS_OF({"customerId": "c1", "customer": "c1"})  # error typeddict-unknown-key
    tables.ask(client, SHOP_ORDERS_OF({"customerId": "c1"}), limits=5)  # error call-overload
    for one in tables.ask(client, SHOP_ORDERS_OF({"customerId": "c1"})):
        print(one.orderId, one.order)  # error attr-defined


def accepts(model: type[BaseModel], value: dict[str, object]) -> bool:
    try:
        model.model_validate(value)
        return True
    except ValidationError:
        return False


def runs() -> None:
    make = SHOP.make
    assert make is not None
    assert make(order.model_dump()) == order and make(customer.model_dump()) == customer
    assert accepts(AuditItem, {"id": "1", "action": "viewed", "timestamp": "2017", "more": 1})
    assert not accepts(AuditItem, {"id": "1", "action": "seen", "timestamp": "2017"})
    assert not accepts(ShopOrder, {"kind": "order", "customerId": "c1"}) and accepts(ShopTaggedAnswer, {"orderId": "o1"})
    assert not accepts(PetsDog, {"owner": "ana", "petId": "rex", "species": "cat", "born": "2015-01-01"})
    assert accepts(ProjectsItem, {"organisationId": "acme", "projectId": "p1", "lastUpdated": "2017"})


def wrong() -> ShopOrder:
    return ShopOrder(kind="customer", customerId="c1", orderId="o1")  # error arg-type


if __name__ == "__main__":
    runs()
