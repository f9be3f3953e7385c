"""Tools that deploy stacks, as their users run them: the CDK's, the SAM CLI, the Serverless Framework, the AWS CLI."""
