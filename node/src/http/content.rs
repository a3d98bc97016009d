//! One representation, answered whole, in part, or not at all to a client that has it already
//! ([RFC 9110], sections 13 and 14).
//!
//! | asked with                                  | answer                                        |
//! |---------------------------------------------|-----------------------------------------------|
//! | nothing of these                            | 200, with `ETag`, `Last-Modified` if there is a time, `Accept-Ranges` |
//! | `If-None-Match`, else `If-Modified-Since`   | 304 if it is the same                         |
//! | `If-Match`, else `If-Unmodified-Since`      | 412 if it is another                          |
//! | one `Range`, and `If-Range` holds           | 206; 416 if there is no such part             |
//! | several ranges, or what is no range         | 200: a server may leave them out              |
//!
//! Headers are read and written by `headers` and `http-range-header`. What is left is their order, for content
//! that is computed as well as for files: `tower-http` has that for files alone, and `http-serve` has no release
//! for today's `http` but a candidate.
//!
//! [RFC 9110]: https://www.rfc-editor.org/rfc/rfc9110.html
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RANGE, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use headers::{
    ContentRange, ETag, HeaderMapExt, IfMatch, IfModifiedSince, IfNoneMatch, IfRange,
    IfUnmodifiedSince, LastModified,
};
use sha2::{Digest, Sha256};

/// What a path names at the moment.
#[derive(Clone, Debug)]
pub(super) struct Content {
    bytes: Bytes,
    tag: Option<ETag>,
    /// When it became what it is.
    modified: Option<SystemTime>,
    /// Everything else that is said of it.
    headers: HeaderMap,
}

impl Content {
    /// Of this kind, to be kept for as long as `caching` says.
    pub(super) fn new(kind: &'static str, caching: &str, bytes: Bytes) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if let Ok(caching) = HeaderValue::from_str(caching) {
            headers.insert(CACHE_CONTROL, caching);
        }
        let tag = format!("\"{}\"", hex::encode(Sha256::digest(&bytes))).parse().ok();
        Self { bytes, tag, modified: None, headers }
    }

    /// It has been the same since, in seconds of Unix time.
    pub(super) fn since(mut self, time: Option<u64>) -> Self {
        self.modified = time
            .and_then(|time| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(time)))
            // What is beyond the year 9999 has no date in HTTP.
            .filter(|time| *time < SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800));
        self
    }

    /// One of several codings of the same; the other ones have other tags.
    pub(super) fn coded(mut self, coding: Option<&'static str>) -> Self {
        self.headers.insert(VARY, ACCEPT_ENCODING.into());
        if let Some(coding) = coding {
            self.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        self
    }

    /// With one more header.
    pub(super) fn with(mut self, name: axum::http::HeaderName, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// What who asks with these headers gets.
    pub(super) fn answer(self, asked: &HeaderMap) -> Response {
        if !self.is_expected(asked) {
            return StatusCode::PRECONDITION_FAILED.into_response();
        }
        if self.is_known(asked) {
            return (StatusCode::NOT_MODIFIED, self.describe()).into_response();
        }
        let length = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        match self.part(asked, length) {
            Ok(None) => (self.describe(), self.bytes).into_response(),
            Ok(Some(part)) => {
                let mut headers = self.describe();
                if let Ok(range) = ContentRange::bytes(part.clone(), length) {
                    headers.typed_insert(range);
                }
                let ends = (usize::try_from(*part.start()), usize::try_from(*part.end()));
                let (Ok(start), Ok(end)) = ends else {
                    return StatusCode::RANGE_NOT_SATISFIABLE.into_response();
                };
                // `part` has checked that it lies within.
                let bytes = self.bytes.slice(start..=end);
                (StatusCode::PARTIAL_CONTENT, headers, bytes).into_response()
            }
            Err(Unsatisfiable) => {
                let mut headers = HeaderMap::new();
                headers.typed_insert(ContentRange::unsatisfied_bytes(length));
                (StatusCode::RANGE_NOT_SATISFIABLE, headers).into_response()
            }
        }
    }

    fn describe(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(tag) = self.tag.clone() {
            headers.typed_insert(tag);
        }
        if let Some(modified) = self.modified {
            headers.typed_insert(LastModified::from(modified));
        }
        headers
    }

    fn is_expected(&self, asked: &HeaderMap) -> bool {
        if let Some(condition) = asked.typed_get::<IfMatch>() {
            return self.tag.as_ref().is_some_and(|tag| condition.precondition_passes(tag));
        }
        let condition = asked.typed_get::<IfUnmodifiedSince>();
        condition.zip(self.modified).is_none_or(|(it, modified)| it.precondition_passes(modified))
    }

    fn is_known(&self, asked: &HeaderMap) -> bool {
        if let Some(condition) = asked.typed_get::<IfNoneMatch>() {
            return self.tag.as_ref().is_some_and(|tag| !condition.precondition_passes(tag));
        }
        let condition = asked.typed_get::<IfModifiedSince>();
        condition.zip(self.modified).is_some_and(|(it, modified)| !it.is_modified(modified))
    }

    /// The part that is asked for, if it is one.
    fn part(
        &self,
        asked: &HeaderMap,
        length: u64,
    ) -> Result<Option<RangeInclusive<u64>>, Unsatisfiable> {
        let modified = self.modified.map(LastModified::from);
        let is_other =
            |condition: IfRange| condition.is_modified(self.tag.as_ref(), modified.as_ref());
        let Some(range) = asked.get(RANGE).and_then(|range| range.to_str().ok()) else {
            return Ok(None);
        };
        if asked.typed_get::<IfRange>().is_some_and(is_other) {
            return Ok(None);
        }
        let Ok(ranges) = http_range_header::parse_range_header(range) else { return Ok(None) };
        let ranges = ranges.validate(length).map_err(|_| Unsatisfiable)?;
        match ranges.as_slice() {
            [part] if *part.end() < length && part.start() <= part.end() => Ok(Some(part.clone())),
            _ => Ok(None),
        }
    }
}

/// There is no such part.
struct Unsatisfiable;

/// What a client that asks with these headers takes.
pub(super) fn codings(asked: &HeaderMap) -> impl Iterator<Item = &str> {
    asked.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok())
}

/// Whether gzip is taken, by lines of `Accept-Encoding`: it is named, or anything is, and not with a weight
/// of zero.
pub(super) fn takes_gzip<'a>(lines: impl IntoIterator<Item = &'a str>) -> bool {
    let mut star = false;
    for coding in lines.into_iter().flat_map(|line| line.split(',')) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let (name, weight) = (name.trim(), weight.trim());
        let number = weight.strip_prefix("q=").or_else(|| weight.strip_prefix("Q="));
        let is_zero = number.is_some_and(|number| {
            number.starts_with('0') && number.bytes().all(|byte| matches!(byte, b'0' | b'.'))
        });
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return !is_zero;
        }
        star |= name == "*" && !is_zero;
    }
    star
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_for_those_who_take_it() {
        let takes = |line| takes_gzip([line]);
        for line in ["gzip", "br, gzip;q=0.5", "GZIP", "deflate , gzip ; q=1", "*", "x-gzip"] {
            assert!(takes(line), "{line}");
        }
        for line in ["", "br", "gzip;q=0", "gzip; q=0.000", "*, gzip;q=0", "*;q=0", "gzipped"] {
            assert!(!takes(line), "{line}");
        }
        assert!(!takes_gzip([]) && takes_gzip(["br", "gzip"]));
    }
}
