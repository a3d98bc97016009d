//! Files to serve beside the values: read once, so that a path can name nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::drand::{PATHS, no_such_path, plain};
use crate::failure::Failure;

/// Bytes of all files.
const MOST: u64 = 16 << 20;
/// Folders within folders.
const DEPTH: u32 = 8;

/// A file and what it is.
struct File {
    kind: &'static str,
    bytes: Bytes,
}

/// Files by their paths, which begin with a slash.
#[derive(Default)]
pub(super) struct Page {
    files: BTreeMap<String, File>,
}

impl Page {
    /// Reads a folder and those in it. Links are followed: who starts the devnet chooses the folder.
    ///
    /// # Errors
    /// If something is not readable, or it is more than 16 MiB.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let mut page = Self::default();
        let mut room = MOST;
        page.take(folder, "", &mut room, DEPTH).map_err(|why| {
            Failure::bad_input(format_args!("--page {}: {why}", folder.display()))
        })?;
        Ok(page)
    }

    fn take(
        &mut self,
        folder: &Path,
        prefix: &str,
        room: &mut u64,
        depth: u32,
    ) -> Result<(), String> {
        let depth = depth.checked_sub(1).ok_or("folders are nested too deeply")?;
        let failed = |error: std::io::Error| error.to_string();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, path) = (entry.file_name(), entry.path());
            // Hidden files are not meant for others, and no link names what is not text.
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let name = format!("{prefix}/{name}");
            let about = fs::metadata(&path).map_err(failed)?;
            if about.is_dir() {
                self.take(&path, &name, room, depth)?;
                continue;
            }
            *room = room.checked_sub(about.len()).ok_or("more than 16 MiB of files")?;
            let bytes = fs::read(&path).map_err(failed)?.into();
            self.files.insert(name.clone(), File { kind: kind(&name), bytes });
        }
        Ok(())
    }

    /// The file of this path; the root without a page lists what there is.
    pub(super) fn file(&self, uri: &Uri) -> Response {
        let path = uri.path();
        let file = match path.strip_suffix('/') {
            Some(folder) => self.files.get(&format!("{folder}/index.html")),
            None => self.files.get(path),
        };
        match file {
            Some(File { kind, bytes }) => {
                let headers = [
                    (CONTENT_TYPE, *kind),
                    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
                    (CACHE_CONTROL, "no-cache"),
                ];
                (headers, bytes.clone()).into_response()
            }
            None if path == "/" => plain(StatusCode::OK, PATHS.trim_end()),
            None => no_such_path(),
        }
    }
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
