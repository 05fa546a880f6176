# The bundle as a CloudFormation stack of Terraform: keyfold bundle --upload s3://my-bucket/keyfold
terraform {
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 6.44" }
  }
}

variable "bucket" { type = string }
variable "prefix" {
  type    = string
  default = "keyfold/"
}

data "aws_s3_bucket" "code" { bucket = var.bucket }

resource "aws_cloudformation_stack" "keyfold" {
  name         = "keyfold"
  template_url = "https://${data.aws_s3_bucket.code.bucket_regional_domain_name}/${var.prefix}template.json"
  capabilities = ["CAPABILITY_IAM"]
  parameters = {
    CodeBucket = var.bucket
    CodePrefix = var.prefix
    # A table with `managed = false` in the manifest.
    OrdersTableName = aws_dynamodb_table.orders.name
    OrdersStreamArn = aws_dynamodb_table.orders.stream_arn
  }
}

output "api" { value = aws_cloudformation_stack.keyfold.outputs["ApiUrl"] }
