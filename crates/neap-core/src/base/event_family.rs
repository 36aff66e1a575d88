//! Families of events. Each kind is declared once, with its name in the store.

use serde::{Deserialize, Deserializer, de};

/// The field that names an event's kind.
pub(crate) const KIND: &str = "type";

/// Declares a family: an enum that is written with the kind as its first field, and read without a copy of its fields.
macro_rules! event_family {
    (
        $(#[$about:meta])*
        pub enum $family:ident {
            $(
                $(#[$doc:meta])*
                $kind:literal => $variant:ident { $( $(#[$field_doc:meta])* $field:ident: $type:ty ),* $(,)? }
            ),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(tag = "type")]
        pub enum $family {
            $( $(#[$doc])* #[serde(rename = $kind)] $variant { $( $(#[$field_doc])* $field: $type ),* } ),*
        }

        impl $family {
            /// The names of its kinds in the store.
            pub(crate) const KINDS: &[&str] = &[$($kind),*];

            /// The name of its kind in the store.
            pub fn kind(&self) -> &'static str {
                match self {
                    $( $family::$variant { .. } => $kind ),*
                }
            }

            /// Reads the fields of an event whose kind was read.
            pub(crate) fn read<'de, A: serde::de::MapAccess<'de>>(kind: &str, fields: A) -> Result<Self, A::Error> {
                let fields = serde::de::value::MapAccessDeserializer::new(fields);
                match kind {
                    $( $kind => {
                        #[derive(serde::Deserialize)]
                        struct Fields {
                            $( $(#[$field_doc])* $field: $type, )*
                            #[serde(default, rename = "type")]
                            _second_kind: $crate::base::event_family::SecondKind,
                        }
                        let Fields { $($field,)* _second_kind: _ } = serde::Deserialize::deserialize(fields)?;
                        Ok($family::$variant { $($field),* })
                    } )*
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::KINDS)),
                }
            }
        }
    };
}

pub(crate) use event_family;

/// An event with two kinds is refused.
#[derive(Default)]
pub(crate) struct SecondKind;

impl<'de> Deserialize<'de> for SecondKind {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::duplicate_field(KIND))
    }
}
