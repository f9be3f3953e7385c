"""Operations of Lambda."""
