"""Serverless templates (SAM): their types, events and settings turned into plain CloudFormation."""
