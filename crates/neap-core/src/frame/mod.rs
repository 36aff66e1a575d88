//! The stance for an input: which kinds of memories matter for it, and what to ask oneself.
