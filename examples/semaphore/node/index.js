// Lets the oldest running execution pass, as only-one-shall-run.py does, in Node.js. The SDK is the runtime's own.
const { SFNClient, ListExecutionsCommand } = require('@aws-sdk/client-sfn')

const client = new SFNClient({})

exports.handler = async (event) => {
  const running = []
  let nextToken
  do {
    const page = await client.send(new ListExecutionsCommand({
      stateMachineArn: process.env.STATE_MACHINE_ARN, statusFilter: 'RUNNING', nextToken
    }))
    running.push(...page.executions)
    nextToken = page.nextToken
  } while (nextToken)
  running.sort((one, other) => one.startDate - other.startDate)
  return { proceed: running[0].name === event.name }
}
