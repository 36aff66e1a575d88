//! A model that only talks. A row that it passes shows nothing about a model: not to act is enough.

use async_trait::async_trait;
use neap_core::turn::{ModelReply, ModelRequest};
use neap_model::{ChatModel, ModelError, OnText};

#[derive(Debug)]
pub(super) struct MuteModel;

#[async_trait]
impl ChatModel for MuteModel {
    fn name(&self) -> &str {
        "mute"
    }

    async fn reply(&self, _request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        on_text("Fine.");
        Ok(ModelReply { text: "Fine.".to_owned(), ..ModelReply::default() })
    }
}
