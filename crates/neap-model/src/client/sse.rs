//! Server-sent events, from bytes in whatever pieces they come.
//!
//! An event counts once the empty line after it has come: what a broken connection cut off is never taken for one.

use crate::ModelError;

/// Longest event that is taken, in bytes; the last event of a response holds all of it once more.
pub(crate) const EVENT_BYTES_MAX: usize = 16 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// What kind it says it is; empty if it does not.
    pub(crate) name: String,
    /// What it carries.
    pub(crate) data: String,
}

/// Puts events together.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    /// The line that has begun.
    line: Vec<u8>,
    /// The line before ended with a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    began: bool,
    name: String,
    data: Option<String>,
}

impl Sse {
    /// Takes bytes, gives the events that are whole now.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, ModelError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                self.check_length()?;
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.check_length()?;
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(events)
    }

    fn check_length(&self) -> Result<(), ModelError> {
        let length = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if length > EVENT_BYTES_MAX {
            return Err(ModelError::Protocol(format!("an event of more than {EVENT_BYTES_MAX} bytes")));
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, ModelError> {
        let line = std::mem::take(&mut self.line);
        let line =
            String::from_utf8(line).map_err(|_| ModelError::Protocol("text that is not UTF-8".to_owned()))?;
        let mut line = line.as_str();
        if !std::mem::replace(&mut self.began, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            return Ok(self.data.take().map(|data| SseEvent { name, data }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // A comment keeps the connection open; ids and times to reconnect are for those who do.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[(&str, &str)]) {
        let want: Vec<SseEvent> =
            want.iter().map(|(name, data)| SseEvent { name: (*name).into(), data: (*data).into() }).collect();
        let bytes = text.as_bytes();
        assert_eq!(Sse::default().feed(bytes).expect("events"), want, "{text:?}");
        for cut in 0..=bytes.len() {
            let mut sse = Sse::default();
            let mut got = sse.feed(&bytes[..cut]).expect("events");
            got.extend(sse.feed(&bytes[cut..]).expect("events"));
            assert_eq!(got, want, "{text:?} cut at {cut}");
        }
        let mut sse = Sse::default();
        let got: Vec<SseEvent> = bytes.iter().flat_map(|byte| sse.feed(&[*byte]).expect("events")).collect();
        assert_eq!(got, want, "{text:?} byte by byte");
    }

    #[test]
    fn events_are_the_same_in_whatever_pieces_they_come() {
        check("data: a\n\n", &[("", "a")]);
        check("data:a\r\ndata:  b\r\n\r\n", &[("", "a\n b")]);
        check("event: x\rdata: é✓\r\r", &[("x", "é✓")]);
        check(": ping\n\nid: 7\nretry: 10\ndata: a\n\nevent: y\n\ndata\n\n", &[("", "a"), ("", "")]);
        check("\u{feff}data: a\n\n\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
        check("nothing: here\n\n", &[]);
    }

    #[test]
    fn what_is_not_ended_is_no_event() {
        check("data: a\n\ndata: [DONE]\n", &[("", "a")]);
        check("data: a", &[]);
    }

    #[test]
    fn garbage_and_floods_are_errors() {
        assert!(matches!(Sse::default().feed(b"data: \xff\n\n"), Err(ModelError::Protocol(_))));
        let mut sse = Sse::default();
        let piece = vec![b'x'; EVENT_BYTES_MAX];
        assert_eq!(sse.feed(&piece), Ok(Vec::new()));
        assert!(matches!(sse.feed(b"y"), Err(ModelError::Protocol(_))));
        let mut sse = Sse::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; EVENT_BYTES_MAX / 2], b"\n"].concat();
        assert_eq!(sse.feed(&line), Ok(Vec::new()));
        assert!(matches!(sse.feed(&line), Err(ModelError::Protocol(_))));
    }
}
