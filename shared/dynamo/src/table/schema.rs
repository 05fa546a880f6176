//! The schema of a table: the common form of the model and of DynamoDB's description.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, GlobalSecondaryIndexDescription, IndexStatus, KeySchemaElement, KeyType,
    Projection as SdkProjection, ProjectionType, ScalarAttributeType, TableDescription,
};
use keyfold_core::model::{Index, IndexKind, KeyAttribute, Projection, ScalarType, Table};

/// The keys, attribute types and indexes of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) keys: KeyNames,
    /// The types of all key attributes, of the table and its indexes, each once.
    pub(crate) types: BTreeMap<String, ScalarAttributeType>,
    /// By their names.
    pub(crate) indexes: BTreeMap<String, IndexSchema>,
}

/// The keys and the projection of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexSchema {
    pub(crate) kind: IndexKind,
    pub(crate) keys: KeyNames,
    pub(crate) projected: Projected,
}

/// The attributes that make up a key, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyNames {
    /// The attributes of the partition key.
    pub partition: Vec<String>,
    /// The attributes of the sort key.
    pub sort: Vec<String>,
}

/// The projection of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Projected {
    All,
    KeysOnly,
    Include(BTreeSet<String>),
}

/// The options of a table besides the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableOptions {
    /// A stream with both images.
    pub stream: bool,
}

impl Schema {
    /// The schema of a table of the model.
    pub(crate) fn of_model(table: &Table) -> Schema {
        let keys = table.key_attributes().chain(table.indexes.iter().flat_map(Index::key_attributes));
        Schema {
            keys: KeyNames::of(std::slice::from_ref(&table.partition), table.sort.as_slice()),
            types: keys.map(|key| (key.name.clone(), scalar_type(key.scalar))).collect(),
            indexes: table
                .indexes
                .iter()
                .map(|index| (index.name.clone(), IndexSchema::of_model(table, index)))
                .collect(),
        }
    }

    /// The schema in DynamoDB's description of a table.
    pub(crate) fn of_description(table: &TableDescription) -> Schema {
        let types = table.attribute_definitions().iter();
        let local = table
            .local_secondary_indexes()
            .iter()
            .map(|index| (IndexKind::Local, index.index_name(), index.key_schema(), index.projection()));
        // An index that is being deleted may differ.
        let stays =
            |index: &&GlobalSecondaryIndexDescription| index.index_status() != Some(&IndexStatus::Deleting);
        let global = table
            .global_secondary_indexes()
            .iter()
            .filter(stays)
            .map(|index| (IndexKind::Global, index.index_name(), index.key_schema(), index.projection()));
        let indexes = local.chain(global).map(|(kind, name, keys, projection)| {
            let schema = IndexSchema {
                kind,
                keys: KeyNames::of_elements(keys),
                projected: Projected::of_description(projection),
            };
            (name.unwrap_or_default().to_owned(), schema)
        });
        Schema {
            keys: KeyNames::of_elements(table.key_schema()),
            types: types.map(|type_| (type_.attribute_name.clone(), type_.attribute_type.clone())).collect(),
            indexes: indexes.collect(),
        }
    }

    /// The attribute definitions of a CreateTable request.
    pub(crate) fn definitions(
        &self,
    ) -> Result<Vec<AttributeDefinition>, aws_sdk_dynamodb::error::BuildError> {
        let define = |(name, type_): (&String, &ScalarAttributeType)| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(type_.clone()).build()
        };
        self.types.iter().map(define).collect()
    }
}

impl IndexSchema {
    fn of_model(table: &Table, index: &Index) -> IndexSchema {
        let keys: BTreeSet<&str> =
            table.key_attributes().chain(index.key_attributes()).map(|key| key.name.as_str()).collect();
        let projected = match &index.projection {
            Projection::All => Projected::All,
            Projection::KeysOnly => Projected::KeysOnly,
            // Keys are in every index; DynamoDB expects only the other attributes.
            Projection::Include(names) => Projected::including(
                names.iter().filter(|name| !keys.contains(name.as_str())).cloned().collect(),
            ),
        };
        IndexSchema { kind: index.kind, keys: KeyNames::of(&index.partition, &index.sort), projected }
    }
}

impl KeyNames {
    fn of(partition: &[KeyAttribute], sort: &[KeyAttribute]) -> KeyNames {
        let names = |keys: &[KeyAttribute]| keys.iter().map(|key| key.name.clone()).collect();
        KeyNames { partition: names(partition), sort: names(sort) }
    }

    fn of_elements(elements: &[KeySchemaElement]) -> KeyNames {
        let (partition, sort): (Vec<_>, Vec<_>) =
            elements.iter().partition(|element| *element.key_type() == KeyType::Hash);
        let names = |elements: Vec<&KeySchemaElement>| {
            elements.into_iter().map(|key| key.attribute_name.clone()).collect()
        };
        KeyNames { partition: names(partition), sort: names(sort) }
    }

    /// The key schema of a CreateTable request: partition key attributes, then sort key attributes.
    pub(crate) fn elements(&self) -> Result<Vec<KeySchemaElement>, aws_sdk_dynamodb::error::BuildError> {
        let partition = self.partition.iter().map(|name| (name, KeyType::Hash));
        let sort = self.sort.iter().map(|name| (name, KeyType::Range));
        let element =
            |(name, type_)| KeySchemaElement::builder().attribute_name(name).key_type(type_).build();
        partition.chain(sort).map(element).collect()
    }
}

/// `` partition `accessedBy`, sort `action` `timestamp` ``
impl fmt::Display for KeyNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("partition")?;
        self.partition.iter().try_for_each(|name| write!(f, " `{name}`"))?;
        if !self.sort.is_empty() {
            f.write_str(", sort")?;
        }
        self.sort.iter().try_for_each(|name| write!(f, " `{name}`"))
    }
}

impl Projected {
    fn including(names: BTreeSet<String>) -> Projected {
        if names.is_empty() { Projected::KeysOnly } else { Projected::Include(names) }
    }

    fn of_description(projection: Option<&SdkProjection>) -> Projected {
        match projection.and_then(|projection| projection.projection_type()) {
            Some(ProjectionType::All) => Projected::All,
            Some(ProjectionType::Include) => {
                let names = projection.map(SdkProjection::non_key_attributes).unwrap_or_default();
                Projected::including(names.iter().cloned().collect())
            }
            _ => Projected::KeysOnly,
        }
    }

    /// The projection of a CreateTable request.
    pub(crate) fn to_sdk(&self) -> SdkProjection {
        let projection = SdkProjection::builder();
        match self {
            Projected::All => projection.projection_type(ProjectionType::All).build(),
            Projected::KeysOnly => projection.projection_type(ProjectionType::KeysOnly).build(),
            Projected::Include(names) => projection
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(names.iter().cloned().collect()))
                .build(),
        }
    }
}

/// `` everything ``, `` keys only ``, `` keys and `resourceName` ``
impl fmt::Display for Projected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Projected::All => f.write_str("everything"),
            Projected::KeysOnly => f.write_str("keys only"),
            Projected::Include(names) => {
                f.write_str("keys and")?;
                names.iter().try_for_each(|name| write!(f, " `{name}`"))
            }
        }
    }
}

fn scalar_type(scalar: ScalarType) -> ScalarAttributeType {
    match scalar {
        ScalarType::S => ScalarAttributeType::S,
        ScalarType::N => ScalarAttributeType::N,
        ScalarType::B => ScalarAttributeType::B,
    }
}
