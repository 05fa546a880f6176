# A table of Terraform's with an index of Keyfold's manifest (.ci/manifests/orders-in-place.toml). The index is a resource of its own, so that it can also be added by `keyfold index add`
# and imported afterwards: a block `global_secondary_index` in the table would delete an index that Terraform does not know.
resource "aws_dynamodb_table" "orders" {
  name             = "orders"
  billing_mode     = "PAY_PER_REQUEST"
  hash_key         = "id"
  stream_enabled   = true
  stream_view_type = "NEW_AND_OLD_IMAGES"

  attribute {
    name = "id"
    type = "S"
  }

  lifecycle {
    # Indexes are below, or Keyfold's.
    ignore_changes = [attribute, global_secondary_index]
  }
}

resource "aws_dynamodb_global_secondary_index" "by_customer_status" {
  table_name = aws_dynamodb_table.orders.name
  index_name = "byCustomerStatus"

  key_schema {
    attribute_name = "byCustomerStatus_pk"
    attribute_type = "S"
    key_type       = "HASH"
  }
  key_schema {
    attribute_name = "placed"
    attribute_type = "S"
    key_type       = "RANGE"
  }

  projection {
    projection_type = "ALL"
  }
}
