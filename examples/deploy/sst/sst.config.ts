/// <reference path="./.sst/platform/config.d.ts" />
// The bundle in an SST app: keyfold bundle --upload s3://my-bucket/keyfold. SST's `aws` is Pulumi's.

const bucket = "my-bucket";
const prefix = "keyfold/";

export default $config({
  app: () => ({ name: "keyfold", home: "aws" }),
  async run() {
    const stack = new aws.cloudformation.Stack("keyfold", {
      templateUrl: `https://${bucket}.s3.amazonaws.com/${prefix}template.json`,
      capabilities: ["CAPABILITY_IAM"],
      parameters: { CodeBucket: bucket, CodePrefix: prefix },
    });
    return { api: stack.outputs.apply((outputs) => outputs["ApiUrl"]) };
  },
});
