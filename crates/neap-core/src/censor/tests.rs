//! Patterns, rules and dry runs, with what must be refused.
