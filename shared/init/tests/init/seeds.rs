//! One small source of each format.

pub(crate) const DESCRIBE: &str = r#"{"Table":{"TableName":"Helpdesk","KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}],
"AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"},{"AttributeName":"SK","AttributeType":"S"},{"AttributeName":"GSI1PK","AttributeType":"S"},{"AttributeName":"day","AttributeType":"S"}],
"GlobalSecondaryIndexes":[{"IndexName":"active","KeySchema":[{"AttributeName":"GSI1PK","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"},"IndexStatus":"ACTIVE"},
{"IndexName":"byDay","KeySchema":[{"AttributeName":"day","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["status","PK"]}}],
"Replicas":[{"RegionName":"eu-west-2"}],"ItemCount":6,"TableSizeBytes":600}}"#;

pub(crate) const TTL: &str =
    r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"expiresAt"}}"#;

pub(crate) const ITEMS: &str = r#"{"PK":{"S":"CUST#c1"},"SK":{"S":"PROFILE"},"etype":{"S":"customer"},"customerId":{"S":"c1"},"email":{"S":"a@example.com"}}
{"PK":{"S":"CUST#c2"},"SK":{"S":"PROFILE"},"etype":{"S":"customer"},"customerId":{"S":"c2"},"email":{"S":"b@example.com"}}
{"PK":{"S":"CUST#c1"},"SK":{"S":"TICKET#2026-03-04T14:19:09Z#842951"},"etype":{"S":"ticket"},"customerId":{"S":"c1"},"ticketId":{"S":"842951"},"openedAt":{"S":"2026-03-04T14:19:09Z"},"status":{"S":"open"},"GSI1PK":{"S":"ACTIVE#c1"},"day":{"S":"2026-03-04"}}
{"PK":{"S":"CUST#c1"},"SK":{"S":"TICKET#2026-03-05T14:19:10Z#842952"},"etype":{"S":"ticket"},"customerId":{"S":"c1"},"ticketId":{"S":"842952"},"openedAt":{"S":"2026-03-05T14:19:10Z"},"status":{"S":"open"},"GSI1PK":{"S":"ACTIVE#c1"},"day":{"S":"2026-03-05"}}
{"PK":{"S":"CUST#c2"},"SK":{"S":"TICKET#2026-03-06T14:19:11Z#842953"},"etype":{"S":"ticket"},"customerId":{"S":"c2"},"ticketId":{"S":"842953"},"openedAt":{"S":"2026-03-06T14:19:11Z"},"status":{"S":"closed"},"day":{"S":"2026-03-06"},"expiresAt":{"N":"1790702635"}}
{"PK":{"S":"CUST#c2"},"SK":{"S":"TICKET#2026-03-07T14:19:12Z#842954"},"etype":{"S":"ticket"},"customerId":{"S":"c2"},"ticketId":{"S":"842954"},"openedAt":{"S":"2026-03-07T14:19:12Z"},"status":{"S":"closed"},"day":{"S":"2026-03-07"}}
"#;

pub(crate) const WORKBENCH: &str = r#"{"ModelName":"Music","ModelMetadata":{"AWSService":"Amazon DynamoDB","Version":"3.0"},"DataModel":[{"TableName":"music",
"KeyAttributes":{"PartitionKey":{"AttributeName":"PK","AttributeType":"S"},"SortKey":{"AttributeName":"SK","AttributeType":"S"}},
"NonKeyAttributes":[{"AttributeName":"artistId","AttributeType":"S"},{"AttributeName":"songId","AttributeType":"S"},{"AttributeName":"seconds","AttributeType":"N"},{"AttributeName":"country","AttributeType":"S"}],
"TableFacets":[{"FacetName":"Song","KeyAttributeAlias":{"PartitionKeyAlias":"ARTIST#<artistId>","SortKeyAlias":"SONG#<songId>"},"NonKeyAttributes":["artistId","songId","seconds"],
"TableData":[{"PK":{"S":"ARTIST#a1"},"SK":{"S":"SONG#s1"},"artistId":{"S":"a1"},"songId":{"S":"s1"},"seconds":{"N":"180"}},{"PK":{"S":"ARTIST#a2"},"SK":{"S":"SONG#s2"},"artistId":{"S":"a2"},"songId":{"S":"s2"},"seconds":{"N":"200"}}]},
{"FacetName":"Artist","KeyAttributeAlias":{"PartitionKeyAlias":"ARTIST#<artistId>","SortKeyAlias":"PROFILE"},"NonKeyAttributes":["artistId","country"],
"TableData":[{"PK":{"S":"ARTIST#a1"},"SK":{"S":"PROFILE"},"artistId":{"S":"a1"},"country":{"S":"NZ"}},{"PK":{"S":"ARTIST#a2"},"SK":{"S":"PROFILE"},"artistId":{"S":"a2"},"country":{"S":"IS"}}]}],
"GlobalSecondaryIndexes":[{"IndexName":"byCountry","KeyAttributes":{"PartitionKey":{"AttributeName":"country","AttributeType":"S"}},"Projection":{"ProjectionType":"KEYS_ONLY"}}],
"AccessPatterns":[{"Name":"Artists of a country","Type":"Query","Table":"music","Index":"byCountry"}]}]}"#;

pub(crate) const CLOUDFORMATION: &str = "
Parameters:
  Stage: { Type: String, Default: dev }
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Condition: WithOrders
    Properties:
      TableName: !Sub 'orders-${Stage}'
      AttributeDefinitions:
        - { AttributeName: orderId, AttributeType: S }
        - { AttributeName: amount, AttributeType: N }
      KeySchema: [{ AttributeName: orderId, KeyType: HASH }]
      LocalSecondaryIndexes: []
      GlobalSecondaryIndexes:
        - IndexName: byAmount
          KeySchema: [{ AttributeName: amount, KeyType: HASH }]
          Projection: { ProjectionType: ALL }
      TimeToLiveSpecification: { AttributeName: expires, Enabled: true }
      KinesisStreamSpecification: { StreamArn: !GetAtt Stream.Arn }
  Small:
    Type: AWS::Serverless::SimpleTable
";

pub(crate) const TERRAFORM: &str = r#"{"format_version":"1.0","values":{"root_module":{"child_modules":[{"resources":[{"type":"aws_dynamodb_table","name":"carts","values":{
"name":"carts","hash_key":"customer","range_key":null,"attribute":[{"name":"customer","type":"S"},{"name":"state","type":"S"},{"name":"since","type":"N"}],
"global_secondary_index":[{"name":"byState","hash_key":"","key_schema":[{"attribute_name":"state","key_type":"HASH"},{"attribute_name":"since","key_type":"RANGE"}],"projection_type":"KEYS_ONLY","non_key_attributes":[]}],
"ttl":[{"attribute_name":"","enabled":false}]}}]}]}}}"#;

pub(crate) const HCL: &str = r#"
variable "prefix" { default = "shop" }
resource "aws_dynamodb_table" "carts" {
  name     = "${var.prefix}-carts"
  hash_key = "customer"
  attribute {
    name = "customer"
    type = "S"
  }
  ttl {
    attribute_name = "expires"
    enabled        = true
  }
}
resource "aws_dynamodb_table_item" "one" {
  table_name = aws_dynamodb_table.carts.name
  hash_key   = "customer"
  item       = jsonencode({ customer = { S = "c1" }, total = { N = "9" } })
}
"#;

pub(crate) const ELECTRODB: &str = r#"[{"model":{"entity":"account","version":"1","service":"crm"},"attributes":{"tenant":{"type":"string","required":true,"label":"t"},"account":{"type":"string","required":true},
"tier":{"type":["free","pro"],"required":true},"seq":{"type":"number","padding":{"length":6,"char":"0"},"required":true},"since":{"type":"string","field":"since_at"}},
"indexes":{"primary":{"pk":{"field":"pk","composite":["tenant"]},"sk":{"field":"sk","composite":["account"]}},
"book":{"index":"gsi1","collection":"book","type":"clustered","pk":{"field":"gsi1pk","composite":["tenant"],"template":"T#${tenant}","casing":"none"},"sk":{"field":"gsi1sk","composite":["tier","seq"],"casing":"upper"}}}},
{"model":{"entity":"contact","version":"2","service":"crm"},"attributes":{"tenant":{"type":"string","required":true,"label":"t"},"contact":{"type":"string","required":true}},
"indexes":{"primary":{"pk":{"field":"pk","composite":["tenant"]},"sk":{"field":"sk","composite":["contact"]}}}}]"#;

pub(crate) const ONETABLE: &str = r#"{"format":"onetable:1.1.0","version":"0.0.1","indexes":{"primary":{"hash":"pk","sort":"sk"},"gs1":{"hash":"gs1pk","sort":"gs1sk","project":["name"]}},
"models":{"User":{"pk":{"type":"String","value":"${_type}#${id}"},"sk":{"type":"String","value":"${_type}#"},"id":{"type":"String","required":true},"age":{"type":"Number"},"name":{"type":"String"},
"gs1pk":{"type":"String","value":"age#${age:4:0}"},"gs1sk":{"type":"String","value":"x#{id}"},"joined":{"type":"Date"},"until":{"type":"Number","ttl":true}},
"Pet":{"pk":{"type":"String","value":"Pet"},"sk":{"type":"String","value":"Pet#${id}"},"id":{"type":"String","required":true},"race":{"type":"String","enum":["dog","cat"]}}},"params":{"isoDates":true}}"#;

pub(crate) const MCP: &str = r#"{"tables":[{"table_config":{"table_name":"Shop","partition_key":"pk","sort_key":"sk"},"gsi_list":[{"name":"byStatus","partition_key":"status","sort_key":"rank"}],
"entities":{"Order":{"entity_type":"ORDER","pk_template":"USER#{user_id}","sk_template":"ORDER#{placed}#{order_id}","gsi_mappings":[{"name":"byStatus","pk_template":"{status}","sk_template":"{score}"}],
"fields":[{"name":"user_id","type":"string","required":true},{"name":"placed","type":"string","required":true},{"name":"order_id","type":"uuid","required":true},{"name":"status","type":"string","required":true},{"name":"score","type":"integer","required":true}],
"access_patterns":[{"pattern_id":1,"name":"orders_since","operation":"Query","range_condition":">=","parameters":[{"name":"user","type":"string"},{"name":"since","type":"string"}]},
{"pattern_id":2,"name":"by_status","operation":"Query","index_name":"byStatus","parameters":[{"name":"status","type":"string"}]},{"pattern_id":3,"name":"put","operation":"PutItem","parameters":[]}]}}}]}"#;

pub(crate) const DATA_MODEL: &str = r#"{"tables":[{"TableName":"Notes","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}],
"items":{"Notes":[{"PutRequest":{"Item":{"id":{"S":"n1"},"text":{"S":"hello"}}}}]},"access_patterns":[{"pattern":"1","description":"a note by its id","table":"Notes"}]}"#;

/// All seeds.
pub(crate) const ALL: [&str; 12] = [
    DESCRIBE,
    TTL,
    ITEMS,
    WORKBENCH,
    CLOUDFORMATION,
    TERRAFORM,
    HCL,
    ELECTRODB,
    ONETABLE,
    MCP,
    DATA_MODEL,
    "{\"Items\":[{\"id\":\"1\",\"n\":5}],\"Count\":1}",
];
