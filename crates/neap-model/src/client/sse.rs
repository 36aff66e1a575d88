//! An incremental parser for server-sent events. An event counts only once its empty line has arrived, so a broken
//! connection never yields a partial event.

use crate::ModelError;

/// Limit on one event; the last event of the Responses API repeats the whole response.
pub(crate) const EVENT_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Empty if the event has none.
    pub(crate) name: String,
    pub(crate) data: String,
}

#[derive(Debug, Default)]
pub(crate) struct SseParser {
    line: Vec<u8>,
    /// The previous line ended with a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    began: bool,
    name: String,
    data: Option<String>,
}

impl SseParser {
    /// Returns the events that are complete now.
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
            events.extend(self.finish_line()?);
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

    fn finish_line(&mut self) -> Result<Option<SseEvent>, ModelError> {
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
            // Comments keep the connection open; ids and retry times matter only to clients that reconnect.
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
        assert_eq!(SseParser::default().feed(bytes).expect("events"), want, "{text:?}");
        for cut in 0..=bytes.len() {
            let mut sse = SseParser::default();
            let mut got = sse.feed(&bytes[..cut]).expect("events");
            got.extend(sse.feed(&bytes[cut..]).expect("events"));
            assert_eq!(got, want, "{text:?} cut at {cut}");
        }
        let mut sse = SseParser::default();
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
        assert!(matches!(SseParser::default().feed(b"data: \xff\n\n"), Err(ModelError::Protocol(_))));
        let mut sse = SseParser::default();
        let piece = vec![b'x'; EVENT_BYTES_MAX];
        assert_eq!(sse.feed(&piece), Ok(Vec::new()));
        assert!(matches!(sse.feed(b"y"), Err(ModelError::Protocol(_))));
        let mut sse = SseParser::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; EVENT_BYTES_MAX / 2], b"\n"].concat();
        assert_eq!(sse.feed(&line), Ok(Vec::new()));
        assert!(matches!(sse.feed(&line), Err(ModelError::Protocol(_))));
    }
}
