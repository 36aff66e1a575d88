//! What a censor looks for, and what comes of finding it.
