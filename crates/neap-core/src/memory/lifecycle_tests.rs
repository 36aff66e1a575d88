//! Every row of the seed's five tables, and the boundaries between them.
