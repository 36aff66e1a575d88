//! Parses responses: `{"data": [{"index": 0, "embedding": [0.1, …]}, …]}`.

use serde::Deserialize;

use crate::ModelError;

const DIMENSIONS_MAX: usize = 16_384;

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<EmbeddingRow>,
}

#[derive(Deserialize)]
struct EmbeddingRow {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// One row per text, in the order of the texts. Fails unless there is exactly one row for each, all of one length.
pub(super) fn parse_rows(bytes: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    let protocol_error = |message: String| Err(ModelError::Protocol(message));
    let EmbeddingsResponse { data } = match serde_json::from_slice(bytes) {
        Ok(response) => response,
        // Report the place, not the content: it may echo the request, including a key.
        Err(error) => {
            return protocol_error(format!(
                "embeddings that cannot be read, at line {}, column {}",
                error.line(),
                error.column()
            ));
        }
    };
    if data.len() != texts {
        return protocol_error(format!("{} embeddings for {texts} texts", data.len()));
    }
    let mut rows: Vec<Vec<f32>> = vec![Vec::new(); texts];
    for (nth, EmbeddingRow { index, embedding }) in data.into_iter().enumerate() {
        match rows.get_mut(index.unwrap_or(nth)) {
            Some(row) if row.is_empty() => *row = embedding,
            Some(_) | None => return protocol_error("an embedding of a text that was not sent".to_owned()),
        }
    }
    let dimensions = rows.first().map_or(0, Vec::len);
    let is_one_length = rows.iter().all(|row| row.len() == dimensions);
    if texts > 0 && !(is_one_length && (1..=DIMENSIONS_MAX).contains(&dimensions)) {
        return protocol_error(format!("embeddings of {dimensions} numbers, or of several lengths"));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_texts() {
        let table: [(&str, usize, &[&[f32]]); 4] = [
            (
                r#"{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}"#,
                2,
                &[&[1., 2.], &[3., 4.]],
            ),
            (
                r#"{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}]}"#,
                2,
                &[&[1., 2.], &[3., 4.]],
            ),
            (r#"{"object":"list","data":[{"embedding":[0.5]}],"usage":{}}"#, 1, &[&[0.5]]),
            (r#"{"data":[]}"#, 0, &[]),
        ];
        for (answer, texts, want) in table {
            assert_eq!(parse_rows(answer.as_bytes(), texts).expect(answer), want, "{answer}");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let wide = format!(r#"{{"data":[{{"embedding":[{}0]}}]}}"#, "0,".repeat(DIMENSIONS_MAX));
        let table = [
            ("", 1),
            ("{}", 1),
            (r#"{"data":[]}"#, 1),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1]}]}"#, 1),
            (r#"{"data":[{"embedding":[]}]}"#, 1),
            (r#"{"data":[{"embedding":[null]}]}"#, 1),
            (r#"{"data":[{"embedding":"AAAA"}]}"#, 1),
            (r#"{"data":[{"index":7,"embedding":[1]}]}"#, 1),
            (r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#, 2),
            (r#"{"data":[{"embedding":[1,2]},{"embedding":[1]}]}"#, 2),
            (wide.as_str(), 1),
        ];
        for (answer, texts) in table {
            let error = parse_rows(answer.as_bytes(), texts).expect_err(answer);
            assert!(matches!(error, ModelError::Protocol(_)), "{answer}: {error}");
        }
    }
}
