//! Files to serve beside the values: read once, so that a path can name nothing else.
//!
//! What becomes smaller is compressed once as well, not for each request: that would be work which costs
//! the client that asks for it nothing.
//!
//! `tower-http` serves folders as well, from files that it opens by the path that is asked for, tagged by time
//! and length. Ours are tagged by their bytes, as rounds are, and answered by the same code (`content`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Component, Path};
use std::time::SystemTime;

use axum::http::header::{ALLOW, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use walkdir::{DirEntry, WalkDir};

use super::content::{Content, codings, takes_gzip};
use super::drand::{PATHS, plain};
use prefinal_lab::Failure;

/// Bytes of all files.
const MOST: u64 = 16 << 20;
/// Folders within folders.
const DEPTH: usize = 8;

/// Pages of another devnet are at the same address: they are asked for again, which costs a 304.
const CACHING: &str = "no-cache";

/// A file as it is, and compressed if that is less.
struct File {
    whole: Content,
    packed: Option<Content>,
}

impl File {
    fn new(name: &str, bytes: Vec<u8>, modified: Option<u64>) -> Self {
        let of = |bytes: Vec<u8>, coding| {
            let content = Content::new(kind(name), CACHING, bytes.into()).since(modified);
            content.coded(coding).with(X_CONTENT_TYPE_OPTIONS, "nosniff")
        };
        let packed = packed(&bytes).map(|packed| of(packed, Some("gzip")));
        Self { whole: of(bytes, None), packed }
    }
}

/// Compressed, if that saves a tenth. Writing into memory does not fail.
fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().filter(|packed| packed.len() < bytes.len() - bytes.len() / 10)
}

/// Files by their paths, which begin with a slash.
pub(super) struct Page {
    files: BTreeMap<String, File>,
    /// The other paths, as a client that asks for one that is not there is told.
    others: &'static str,
}

/// No files, beside drand's paths.
impl Default for Page {
    fn default() -> Self {
        Self { files: BTreeMap::new(), others: PATHS }
    }
}

impl Page {
    /// Beside other paths than drand's.
    pub(super) fn beside(self, others: &'static str) -> Self {
        Self { others, ..self }
    }

    /// Reads a folder and those in it. Links are followed: who starts the devnet chooses the folder.
    ///
    /// # Errors
    /// If something is not readable, or it is more than 16 MiB.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        Self::gather(folder)
            .map_err(|why| Failure::bad_input(format_args!("--page {}: {why}", folder.display())))
    }

    fn gather(folder: &Path) -> Result<Self, String> {
        let (mut page, mut room) = (Self::default(), MOST);
        let entries = WalkDir::new(folder).follow_links(true).min_depth(1).into_iter();
        for entry in entries.filter_entry(is_public) {
            let entry = entry.map_err(|error| error.to_string())?;
            let about = entry.metadata().map_err(|error| error.to_string())?;
            if about.is_dir() {
                if entry.depth() >= DEPTH {
                    return Err("folders are nested too deeply".to_owned());
                }
                continue;
            }
            room = room.checked_sub(about.len()).ok_or("more than 16 MiB of files")?;
            let bytes = fs::read(entry.path()).map_err(|error| error.to_string())?;
            let modified = about.modified().ok().and_then(seconds);
            let name = name(folder, entry.path());
            let file = File::new(&name, bytes, modified);
            page.files.insert(name, file);
        }
        Ok(page)
    }

    /// The file of this path; the root without a page lists what there is.
    pub(super) fn file(&self, method: &Method, uri: &Uri, asked: &HeaderMap) -> Response {
        let path = uri.path();
        let file = match path.strip_suffix('/') {
            Some(folder) => self.files.get(&format!("{folder}/index.html")),
            None => self.files.get(path),
        };
        match file {
            Some(_) if !matches!(*method, Method::GET | Method::HEAD) => {
                (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response()
            }
            Some(File { whole, packed }) => {
                let packed = packed.as_ref().filter(|_| takes_gzip(codings(asked)));
                packed.unwrap_or(whole).clone().answer(asked)
            }
            None if path == "/" => plain(StatusCode::OK, self.others.trim_end()),
            None => plain(StatusCode::NOT_FOUND, self.others.trim_end()),
        }
    }
}

/// Hidden files are not meant for others, and no link names what is not text.
fn is_public(entry: &DirEntry) -> bool {
    entry.depth() == 0 || entry.file_name().to_str().is_some_and(|name| !name.starts_with('.'))
}

/// The path under which a file of this folder is asked for.
fn name(folder: &Path, file: &Path) -> String {
    let inner = file.strip_prefix(folder).unwrap_or(file).components();
    let names = inner.filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    names.flat_map(|name| ["/", name]).collect()
}

fn seconds(time: SystemTime) -> Option<u64> {
    time.duration_since(SystemTime::UNIX_EPOCH).ok().map(|span| span.as_secs())
}

/// What a browser needs to be told of a file.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "txt" | "md" | "ts" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
