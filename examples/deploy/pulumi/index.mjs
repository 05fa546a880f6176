// The bundle as a CloudFormation stack of Pulumi: keyfold bundle --upload s3://my-bucket/keyfold
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

const config = new pulumi.Config("keyfold");
const bucket = config.require("bucket");
const prefix = config.get("prefix") ?? "keyfold/";

export const stack = new aws.cloudformation.Stack("keyfold", {
  templateUrl: `https://${bucket}.s3.amazonaws.com/${prefix}template.json`,
  capabilities: ["CAPABILITY_IAM"],
  parameters: { CodeBucket: bucket, CodePrefix: prefix },
});
export const api = stack.outputs.apply((outputs) => outputs["ApiUrl"]);
