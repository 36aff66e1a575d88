//! How records stand in a context: forms, caps, and texts that imitate ours.
