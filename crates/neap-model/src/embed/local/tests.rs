//! The encoder against another implementation of the same weights, and on unusual texts.

use super::word_pieces::WordPieces;
use super::*;

fn encoder() -> Encoder {
    Encoder::built_in().expect("the weights are whole")
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[test]
fn text_is_cut_into_known_pieces() {
    let pieces = WordPieces::new(include_str!("assets/vocab.txt"));
    let table: [(&str, &[u32]); 7] = [
        ("", &[101, 102]),
        ("Hello, world!", &[101, 7592, 1010, 2088, 999, 102]),
        ("  HELLO\tworld\u{0} ", &[101, 7592, 2088, 102]),
        ("Café cafe", &[101, 7668, 7668, 102]),
        ("embeddings", &[101, 7861, 8270, 4667, 2015, 102]),
        ("日本", &[101, 1864, 1876, 102]),
        ("\u{1f980}", &[101, 100, 102]),
    ];
    for (text, expected) in table {
        assert_eq!(pieces.tokenize(text, 128), expected, "{text:?}");
    }
    assert_eq!(
        pieces.tokenize(&"a".repeat(1_000_000), 128),
        [101, 100, 102],
        "an endless word is one unknown piece"
    );
    assert_eq!(pieces.tokenize(&"a ".repeat(1_000_000), 128).len(), 128);
}

/// The expected numbers come from another implementation of the same weights.
#[test]
fn the_numbers_are_the_model_s() {
    let vectors = encoder().embed(&["Send a document", "Transfer a file", "The cat sleeps on the warm roof"]);
    let expected = [
        [-0.0465, -0.0621, -0.0147, 0.0496, 0.0726, -0.0410],
        [0.0093, -0.1063, -0.0329, 0.0109, 0.0911, -0.0361],
        [0.0401, -0.0937, -0.0197, 0.0582, 0.0033, -0.0010],
    ];
    for (vector, expected) in vectors.iter().zip(expected) {
        for (value, expected) in vector.iter().zip(expected) {
            assert!((value - expected).abs() < 3e-4, "{value} is not {expected}");
        }
    }
    assert!((cosine(&vectors[0], &vectors[1]) - 0.4257).abs() < 2e-3);
    assert!((cosine(&vectors[0], &vectors[2]) + 0.1023).abs() < 2e-3);
}

/// Stored embeddings are compared with new ones, so the product must equal, to the last bit, the sum over single
/// weights in the order of the inputs.
#[test]
fn packed_weights_are_the_weights() {
    let tensors =
        weights::TensorFile::parse(include_bytes!("assets/minilm-l3-q4.safetensors")).expect("they are whole");
    let (name, inputs, outputs) = ("encoder.layer.1.output.dense", 4 * layer::HIDDEN, layer::HIDDEN);
    let matrix = tensors.matrix(&[name.to_owned()], inputs, outputs).expect("it is there");
    let table = tensors.table(&format!("{name}.weight"), inputs).expect("it is there");
    let bias = tensors.f32_values(&format!("{name}.bias")).expect("it is there");
    for rows in [1, 2, 5, 6, 13] {
        let x: Vec<f32> = (0..rows * inputs).map(|at| ((at * 37 % 101) as f32 - 50.0) / 17.0).collect();
        let out = pulp::Arch::new().dispatch(Product { matrix: &matrix, x: &x });
        for (row, out) in x.chunks_exact(inputs).zip(out.chunks_exact(outputs)) {
            for output in (0..outputs).step_by(7) {
                let weight = |at: usize| {
                    (f32::from(table.code(output, at)) - 8.0) * table.scale(output, at / weights::GROUP_SIZE)
                };
                let sum = (0..inputs).fold(bias[output], |sum, at| row[at].mul_add(weight(at), sum));
                assert_eq!(out[output].to_bits(), sum.to_bits(), "{rows} rows, output {output}");
            }
        }
    }
}

struct Product<'a> {
    matrix: &'a layer::Matrix,
    x: &'a [f32],
}

impl pulp::WithSimd for Product<'_> {
    type Output = Vec<f32>;

    fn with_simd<S: pulp::Simd>(self, simd: S) -> Vec<f32> {
        self.matrix.apply(simd, self.x)
    }
}

#[test]
fn a_text_s_vector_does_not_depend_on_its_company() {
    let encoder = encoder();
    let long = "Tides come and go with the moon. ".repeat(60);
    let texts = ["", "ok", "John: I moved to Lisbon in May.", long.as_str(), "?!", "Where does John live?"];
    let many: Vec<&str> = texts.iter().cycle().take(25).copied().collect();
    let together = encoder.embed(&many);
    for (text, vector) in many.iter().zip(&together) {
        assert_eq!(encoder.embed(&[text])[0], *vector, "{text:?}");
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-4);
    }
    assert!(encoder.embed(&[]).is_empty());
    assert!(cosine(&together[2], &together[5]) > cosine(&together[3], &together[5]));
}

#[test]
fn damaged_weights_are_noticed() {
    let whole: &[u8] = include_bytes!("assets/minilm-l3-q4.safetensors");
    assert!(weights::TensorFile::parse(whole).is_some());
    for end in [0, 7, 100, whole.len() - 1] {
        assert!(weights::TensorFile::parse(&whole[..end]).is_none(), "cut at {end}");
    }
}

#[tokio::test]
async fn it_is_an_embedder() {
    let embedder = LocalEmbedder;
    let embeddings = embedder.embed(&["one", ""]).await.expect("embeds");
    assert_eq!(embeddings.iter().map(|embedding| embedding.values().len()).collect::<Vec<_>>(), [384, 384]);
    assert_eq!(embedder.identity(), "minilm-l3-q4/1");
}
