"""Operations of Step Functions, one module per kind of resource. Importing a module registers its operations."""
