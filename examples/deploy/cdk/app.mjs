// The bundle as a stack of a CDK app: BUNDLE=bundle BUCKET=my-bucket PREFIX=keyfold/ npx cdk deploy --app "node app.mjs"
import { App, CfnOutput, Stack, Validations } from "aws-cdk-lib";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";

const { BUNDLE = "bundle", BUCKET, PREFIX = "" } = process.env;
const app = new App();
const stack = new Stack(app, "keyfold");
const keyfold = new CfnInclude(stack, "Keyfold", {
  templateFile: `${BUNDLE}/template.json`,
  parameters: { CodeBucket: BUCKET, CodePrefix: PREFIX },
});
// Every resource of the bundle is yours to refer to.
new CfnOutput(stack, "AlarmTopicName", { value: keyfold.getResource("AlarmTopic").attrTopicName });
// CDK looks at the defaults of parameters that are behind a condition, such as no subnets.
const reason = "an empty parameter is not used: a condition stands before it";
Validations.of(stack).acknowledge(...["E1150", "F3031", "W1030"].map((rule) => ({ id: `CloudFormation-Validate::${rule}`, reason })));
app.synth();
