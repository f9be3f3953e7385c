"""Amazon States Language: reads, validates and compiles definitions. Pure, except for `loading`."""
