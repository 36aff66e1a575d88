//! The example of a chat runs twice, as a person runs it: the second time it goes on.

#[path = "../../../examples/rust/chat.rs"]
mod chat;

#[tokio::test]
async fn the_chat_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("chat.db");
    let mut said = Vec::new();
    for line in ["users get a 401 an hour after login, help me", "which status do users get?"] {
        said.clear();
        chat::chat(&path, line.as_bytes(), &mut said).await.expect("it answers");
    }
    let said = String::from_utf8(said).expect("words");
    assert!(said.contains("401"), "{said}");
}
