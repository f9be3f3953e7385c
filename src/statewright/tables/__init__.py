"""Tables: DynamoDB's items, indexes, expressions and transactions over any store."""
