#!/bin/sh
# The bundle with the AWS CLI: aws.sh BUNDLE BUCKET PREFIX/ [PARAMETER=VALUE...]
set -eu
bundle=$1 bucket=$2 prefix=$3
shift 3
aws cloudformation deploy --stack-name keyfold --template-file "$bundle/template.json" --s3-bucket "$bucket" --s3-prefix "${prefix}templates" \
  --capabilities CAPABILITY_IAM --parameter-overrides CodeBucket="$bucket" CodePrefix="$prefix" "$@"
