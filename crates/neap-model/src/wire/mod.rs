//! What stands on the wire, as it was written.
//!
//! A request of a client is kept as text: its members in their order, with the spaces between them, each value untouched.
//! What we know is read through views over that ([`openai`], [`responses`], [`anthropic`]); what we do not know (a field, a
//! role, a kind of item) is carried along byte for byte, and what we change is all that changes.

pub mod anthropic;
pub mod heard;
pub mod hiding;
pub mod json;
pub mod openai;
pub mod responses;

/// A view over an object: what it does not name is still there.
macro_rules! view {
    ($(#[doc = $doc:literal])* $name:ident) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $name($crate::wire::json::Object);

        impl $name {
            /// Reads it; fails where the text is no JSON object.
            pub fn parse(text: &str) -> Result<Self, $crate::wire::json::NotJson> {
                Ok(Self($crate::wire::json::Object::parse(text)?))
            }

            /// The object beneath, whole.
            pub fn object(&self) -> &$crate::wire::json::Object {
                &self.0
            }

            /// The object beneath, to change it.
            pub fn object_mut(&mut self) -> &mut $crate::wire::json::Object {
                &mut self.0
            }

            /// As JSON text.
            pub fn to_json(&self) -> $crate::wire::json::Json {
                self.0.to_json()
            }
        }

        impl From<$crate::wire::json::Object> for $name {
            fn from(object: $crate::wire::json::Object) -> Self {
                Self(object)
            }
        }
    };
}
pub(crate) use view;

#[cfg(test)]
mod tests;
