"""Expressions of DynamoDB: parsed, bound to names and values, compiled into functions of an item."""
