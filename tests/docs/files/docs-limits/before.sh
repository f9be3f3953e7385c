ARN=$(statewright aws stepfunctions create-state-machine --name order --definition file://door.asl.json \
  --role-arn arn:aws:iam::000000000000:role/any --query stateMachineArn --output text)
for name in run-7 run-8; do statewright execution start order --name $name; done
