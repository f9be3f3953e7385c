statewright aws logs create-log-group --log-group-name /aws/lambda/work
