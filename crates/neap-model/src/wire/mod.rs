//! Wire formats, preserved byte for byte.
//!
//! A client's request stays text: members keep their order and spacing, values are untouched. Views ([`openai`],
//! [`responses`], [`anthropic`]) read the known parts. Unknown fields, roles and item kinds pass through, and an
//! edit changes nothing but what it names.

pub mod anthropic;
pub mod json;
pub mod openai;
pub mod request;
pub mod responses;
pub mod tool_filter;

/// A typed view over an object that preserves unknown members.
macro_rules! view {
    ($(#[doc = $doc:literal])* $name:ident) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $name($crate::wire::json::Object);

        impl $name {
            /// Fails if the text is not a JSON object.
            pub fn parse(text: &str) -> Result<Self, $crate::wire::json::NotJson> {
                Ok(Self($crate::wire::json::Object::parse(text)?))
            }

            pub fn object(&self) -> &$crate::wire::json::Object {
                &self.0
            }

            pub fn object_mut(&mut self) -> &mut $crate::wire::json::Object {
                &mut self.0
            }

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
