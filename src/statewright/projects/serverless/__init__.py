"""Services of the Serverless Framework: `serverless.yml` with its variables and events."""
