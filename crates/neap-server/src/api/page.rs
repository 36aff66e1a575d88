//! Pages of lists, and answers that stay below a size.

use serde::Serialize;
use serde_json::{Value, json};

use super::problem::Problem;

/// No answer is larger.
pub(crate) const ANSWER_BYTES_MAX: usize = 200_000;
/// What its content may take; the rest is for what is around it.
const CONTENT_BYTES_MAX: usize = 185_000;
/// How short long texts become, one after the other, until an answer fits.
const TEXT_CHARS: [usize; 6] = [20_000, 6_000, 2_000, 600, 200, 60];
/// How short lists become if that does not do.
const LIST_ITEMS: [usize; 3] = [256, 64, 16];

/// A page of a list. `items` are one more than `limit` if there are more; `cursor` names an item, after which the next
/// page begins.
pub(crate) fn page<T: Serialize>(
    items: Vec<T>,
    limit: usize,
    cursor: impl Fn(&T) -> String,
) -> Result<Value, Problem> {
    let all = items.len();
    let (mut shown, mut bytes, mut next) = (Vec::new(), 0, None);
    for item in items.iter().take(limit) {
        let mut value = to_value(item)?;
        let mut size = value.to_string().len();
        if size > CONTENT_BYTES_MAX {
            value = fit(value);
            size = value.to_string().len();
        }
        if !shown.is_empty() && bytes + size > CONTENT_BYTES_MAX {
            break;
        }
        bytes += size + 1;
        next = Some(cursor(item));
        shown.push(value);
    }
    let next = next.filter(|_| shown.len() < all);
    Ok(json!({"items": shown, "next": next}))
}

/// Leaves the second of each pair.
pub(crate) fn unpair(answer: &mut Value) {
    if let Some(items) = answer["items"].as_array_mut() {
        for item in items {
            *item = item[1].take();
        }
    }
}

/// Where the list goes on after a page that shows all of its `count` items, though there may be more.
pub(crate) fn continue_at<T: ToString>(answer: &mut Value, count: usize, cursor: Option<T>) {
    let is_whole = answer["items"].as_array().is_some_and(|items| items.len() == count);
    if is_whole && answer["next"].is_null() {
        answer["next"] = json!(cursor.map(|cursor| cursor.to_string()));
    }
}

/// All of a short list.
pub(crate) fn whole<T: Serialize>(items: &[T]) -> Result<Value, Problem> {
    Ok(json!({"items": to_value(&items)?, "next": null}))
}

pub(crate) fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Problem> {
    let failed = |error: serde_json::Error| {
        Problem::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    };
    serde_json::to_value(value).map_err(failed)
}

/// The same with its longest texts cut, and `clipped` telling which, if it would be too large.
pub(crate) fn fit(value: Value) -> Value {
    if value.to_string().len() <= CONTENT_BYTES_MAX {
        return value;
    }
    let lists = std::iter::once(usize::MAX).chain(LIST_ITEMS);
    let limits = lists.flat_map(|items| TEXT_CHARS.into_iter().map(move |chars| (chars, items)));
    let mut cut = Value::Null;
    for (chars, items) in limits {
        let mut places = Vec::new();
        cut = clip(&value, chars, items, &mut String::new(), &mut places);
        if let (Some(object), false) = (cut.as_object_mut(), places.is_empty()) {
            object.insert("clipped".to_owned(), Value::Array(places));
        }
        if cut.to_string().len() <= CONTENT_BYTES_MAX {
            break;
        }
    }
    cut
}

fn clip(value: &Value, chars_max: usize, items_max: usize, at: &mut String, places: &mut Vec<Value>) -> Value {
    match value {
        // No text has more characters than bytes.
        Value::String(text) if text.len() > chars_max => {
            let chars = text.chars().count();
            if chars <= chars_max {
                return value.clone();
            }
            places.push(json!({"at": at, "chars": chars}));
            Value::String(text.chars().take(chars_max).collect())
        }
        Value::Array(items) => {
            if items.len() > items_max {
                places.push(json!({"at": at, "items": items.len()}));
            }
            let items = items.iter().take(items_max).enumerate();
            items
                .map(|(n, item)| under(at, &n.to_string(), |at| clip(item, chars_max, items_max, at, places)))
                .collect()
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                (name.clone(), under(at, &escaped, |at| clip(field, chars_max, items_max, at, places)))
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn under<T>(at: &mut String, name: &str, inner: impl FnOnce(&mut String) -> T) -> T {
    let length = at.len();
    at.push('/');
    at.push_str(name);
    let result = inner(at);
    at.truncate(length);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_any_size_fits_and_says_what_was_cut() {
        let long = "ä".repeat(1_000_000);
        let many: Vec<Value> = (0..50_000).map(|n| json!({"n": n, "text": "a few words"})).collect();
        for value in [
            json!({"text": long, "short": "x"}),
            json!({"a/b": [{"~": long}, {"c": long}]}),
            json!({"many": many}),
            json!({"texts": vec!["word ".repeat(300); 2_000]}),
            json!({"quotes": "\"\u{1}".repeat(400_000)}),
        ] {
            let cut = fit(value.clone());
            assert!(cut.to_string().len() <= ANSWER_BYTES_MAX);
            let places = cut["clipped"].as_array().expect("it was cut");
            for place in places {
                let at = place["at"].as_str().expect("a pointer");
                let whole = value.pointer(at).expect("a place");
                match whole.as_array() {
                    Some(items) => assert_eq!(place["items"], items.len()),
                    None => assert_eq!(place["chars"], whole.as_str().expect("a text").chars().count()),
                }
            }
        }
        assert_eq!(fit(json!({"a": 1})), json!({"a": 1}));
    }

    #[test]
    fn a_page_ends_at_its_limit_or_its_size() {
        let cursor = |n: &usize| n.to_string();
        let all: Vec<usize> = (0..10).collect();
        assert_eq!(page(all.clone(), 3, cursor).expect("a page"), json!({"items": [0, 1, 2], "next": "2"}));
        assert_eq!(page(all[..3].to_vec(), 3, cursor).expect("a page"), json!({"items": [0, 1, 2], "next": null}));
        assert_eq!(page(Vec::new(), 3, cursor).expect("a page"), json!({"items": [], "next": null}));
        let large = vec!["x".repeat(100_000); 3];
        let first = page(large, 3, |_| "after".to_owned()).expect("a page");
        assert_eq!((first["items"].as_array().map(Vec::len), &first["next"]), (Some(1), &json!("after")));
    }
}
