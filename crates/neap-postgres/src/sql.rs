//! Parameters with their types: statements are sent unnamed, with their types, so that nothing has to be prepared.

use tokio_postgres::types::{ToSql, Type};

pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// A value whose type in SQL is known.
pub(crate) trait SqlValue: ToSql + Sync {
    const TYPE: Type;
}

macro_rules! sql_values {
    ($($value:ty => $sql:ident;)*) => {
        $(impl SqlValue for $value {
            const TYPE: Type = Type::$sql;
        })*
    };
}

sql_values! {
    bool => BOOL;
    i64 => INT8;
    Option<i64> => INT8;
    Vec<i64> => INT8_ARRAY;
    Vec<bool> => BOOL_ARRAY;
    Option<Vec<i64>> => INT8_ARRAY;
    Vec<Option<i64>> => INT8_ARRAY;
    &str => TEXT;
    Option<&str> => TEXT;
    Vec<&str> => TEXT_ARRAY;
    &[u8] => BYTEA;
    Vec<&[u8]> => BYTEA_ARRAY;
    Vec<Vec<u8>> => BYTEA_ARRAY;
    Vec<Option<&[u8]>> => BYTEA_ARRAY;
}

pub(crate) fn param<T: SqlValue>(value: &T) -> Param<'_> {
    (value, T::TYPE)
}

/// Parameters from references to values.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::sql::param($value)),*]
    };
}
pub(crate) use params;

/// Saturates: Postgres has signed integers only.
pub(crate) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn usize_to_sql(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
