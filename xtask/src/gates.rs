//! Every gate, stage by stage: what is quick and fails often comes first, then in the second lane what is built in
//! folders that the first does not use, then what the first has built meanwhile.
use crate::Failed;
use crate::gate::{Gate, root};
use crate::setup::{self, Program};

/// Gates that need the same set-up.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Where it runs if all stages do.
    pub(crate) lane: Lane,
    /// Installs what the gates need, then names them.
    pub(crate) gates: fn() -> Result<Vec<Gate>, Failed>,
}

/// Two lanes keep both cores busy: while tests run, and validators wait for each other, the second lane compiles.
/// Both build in one folder, so they do not build at the same time, and nothing twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// All that `tests` builds, and tests that look at real time.
    First,
    /// The others, which give way. Those that the first lane's programs serve come last, when these are built.
    Second,
}

pub(crate) const STAGES: &[Stage] = &[
    Stage {
        name: "source",
        lane: Lane::Second,
        about: "format, locked dependencies, the book",
        gates: source,
    },
    Stage {
        name: "licences",
        lane: Lane::Second,
        about: "licences and origins of all dependencies",
        gates: licences,
    },
    Stage {
        name: "tests",
        lane: Lane::First,
        about: "lints of all targets, unit, integration and documentation tests",
        gates: tests,
    },
    Stage {
        name: "http",
        lane: Lane::First,
        about: "drand's published clients verify the rounds of a devnet and of validators",
        gates: http,
    },
    Stage {
        name: "sidecar",
        lane: Lane::First,
        about: "engines in Go and Python call the sidecar by stubs made from its description",
        gates: sidecar,
    },
    Stage {
        name: "browser",
        lane: Lane::First,
        about: "the npm package: its bytes, in Node, in Chromium",
        gates: browser,
    },
    Stage {
        name: "packages",
        lane: Lane::Second,
        about: "crates as a registry would get them, by the oldest Rust and with old dependencies",
        gates: packages,
    },
    Stage {
        name: "constant-time",
        lane: Lane::Second,
        about: "no jump and no address depends on a secret",
        gates: constant_time,
    },
    Stage {
        name: "instructions",
        lane: Lane::Second,
        about: "no operation takes other than the stored count, within 2 %",
        gates: instructions,
    },
    Stage {
        name: "backends",
        lane: Lane::Second,
        about: "tests of the curve once more on arkworks",
        gates: backends,
    },
    Stage {
        name: "features",
        lane: Lane::Second,
        about: "lints with each feature",
        gates: features,
    },
    Stage {
        name: "targets",
        lane: Lane::Second,
        about: "builds without std, and for browsers",
        gates: targets,
    },
    Stage {
        name: "platforms",
        lane: Lane::Second,
        about: "one answer in WebAssembly too, run by Node",
        gates: platforms,
    },
    Stage {
        name: "python",
        lane: Lane::Second,
        about: "the Python package: wheel, tests, types",
        gates: python,
    },
    Stage {
        name: "campaigns",
        lane: Lane::Second,
        about: "small committees under drawn attacks",
        gates: campaigns,
    },
    Stage {
        name: "vectors",
        lane: Lane::Second,
        about: "a model and a library in Python come to the same, and so does Go",
        gates: vectors,
    },
    Stage {
        name: "fuzz",
        lane: Lane::Second,
        about: "each fuzz target for some seconds",
        gates: fuzz,
    },
];

/// Crates outside of the workspace, each with its own lockfile.
const SATELLITES: [&str; 8] = [
    "benches/instructions",
    "benches/peers/arkworks",
    "benches/peers/blsttc",
    "benches/peers/commonware",
    "benches/peers/fastcrypto",
    "benches/peers/ferveo",
    "bindings/wasm",
    "crypto-core/constant-time",
];

const FUZZ_SECONDS: u32 = 6;

/// What is not on by default: linted and tested with all of it, so that one build serves; without it
/// the tests run on the other backend, and everything compiles under `features`.
const EXTRAS: &str = "prefinal-crypto-core/serde,prefinal-crypto-core/interop-ark,\
                      prefinal-crypto-core/interop-blst,prefinal-crypto-core/interop-blstrs,\
                      prefinal-pvss-dkg/parallel,prefinal-node/timelock,prefinal-node/validator,\
                      prefinal-node/evm,prefinal-codes/timelock,prefinal-fuzz/fuzzer";

/// Conversions to the types of other libraries, which no other feature changes.
const INTEROP: &str = "interop-ark,interop-blst,interop-blstrs";

pub(crate) const NODE: Program = Program { name: "node", package: "nodejs" };

/// Of the fuzzer.
const CXX: Program = Program { name: "c++", package: "g++" };

pub(crate) const NPM: Program = Program { name: "npm", package: "npm" };

pub(crate) const WASM_TRIPLE: &str = "wasm32-unknown-unknown";
const TARGETS: [&str; 2] = [WASM_TRIPLE, "thumbv7em-none-eabihf"];

/// Engines and functions are drawn; Jolteon and Malachite play for themselves as well, for they are drawn seldom.
/// Trantor and DISPEL do in the lab's tests.
const CAMPAIGNS: [&str; 6] = [
    "--executions 100 --seed 7",
    "--engine jolteon --executions 20 --seed 8",
    "--engine malachite --executions 20 --seed 9",
    "--engine jolteon --function bls --epochs 2 --executions 8 --seed 10",
    // The fifth of these needs certificates of earlier lives.
    "--execute --executions 10 --seed 1060",
    "--sync --executions 100 --seed 1",
];

/// `cargo test` of the workspace. Always all of it, so that features and with them hundreds of dependencies are
/// the same.
fn workspace(more: &str) -> Gate {
    Gate::cargo(format!("test --workspace --locked --features {EXTRAS} {more}").trim_end())
}

/// What is linted is built as well, instead of once to be looked at and once more to run.
fn tested(more: &str) -> Gate {
    linted(workspace(more))
}

/// Clippy in the compiler's place, told as `cargo clippy -- -D warnings` tells it.
fn linted(gate: Gate) -> Gate {
    let clippy = root().join("xtask/clippy.sh");
    gate.with("RUSTC_WORKSPACE_WRAPPER", &clippy.to_string_lossy())
        .with("CLIPPY_ARGS", DENY_WARNINGS)
}

const DENY_WARNINGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// The book's links and programs are in `tests`.
fn source() -> Result<Vec<Gate>, Failed> {
    setup::components(&["rustfmt"])?;
    setup::mdbook()?;
    let mut gates = vec![Gate::cargo("fmt --all --check")];
    for folder in SATELLITES {
        let manifest = format!("--manifest-path {folder}/Cargo.toml");
        gates.push(Gate::cargo(&format!("fmt {manifest} --check")));
        // Not all of them are compiled by a gate: what they depend on must at least be theirs to have.
        gates.push(Gate::cargo(&format!("update --quiet --workspace --locked {manifest}")));
    }
    gates.push(Gate::new("mdbook", "build docs/book"));
    Ok(gates)
}

/// The advisories live elsewhere; where that cannot be reached they are left out, and that is said.
fn licences() -> Result<Vec<Gate>, Failed> {
    setup::subcommand("deny")?;
    let reachable = setup::answers("git", &["ls-remote", "--exit-code", ADVISORIES, "HEAD"]);
    if !reachable {
        println!("{ADVISORIES} cannot be reached: known vulnerabilities are not looked for");
    }
    let also = if reachable { " advisories" } else { "" };
    Ok(vec![Gate::cargo(&format!("deny --locked check bans licenses sources{also}"))])
}

const ADVISORIES: &str = "https://github.com/RustSec/advisory-db";

/// Benches are not run, but they compile. The documentation's examples come before the tests, which take ten times
/// as long.
fn tests() -> Result<Vec<Gate>, Failed> {
    setup::components(&["clippy"])?;
    setup::programs(&[CXX])?;
    let rustdoc = root().join("xtask/rustdoc.sh");
    let examples = format!("build --workspace --locked --features {EXTRAS} --examples");
    let mut gates = vec![
        linted(Gate::cargo(&examples)),
        tested("--doc").with("RUSTDOC", &rustdoc.to_string_lossy()),
        tested("--benches --no-run"),
        tested("--tests"),
    ];
    if computes_wide() {
        // Once more as on a processor without AVX-512: what is built, and what cannot be chosen by its name.
        let programs = "--test curve --test lanes --test schemes --test threads --test wire_memory";
        let units =
            Gate::cargo("test -p prefinal-bls12-381 -p prefinal-crypto-core --lib --locked");
        gates.extend([tested(programs), units].map(|gate| gate.with("PREFINAL_LANES", "off")));
    }
    Ok(gates)
}

/// By the program that the tests were built with.
fn campaigns() -> Result<Vec<Gate>, Failed> {
    let campaign =
        |options| Gate::new("target/debug/prefinal", &format!("simulate --campaign {options}"));
    Ok([served("--no-run")].into_iter().chain(CAMPAIGNS.map(campaign)).collect())
}

/// Whether points are computed eight at a time here.
fn computes_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// The program is the one that `tests` has built. Packages come from npm and modules from Go's proxy, both
/// by their lockfiles' hashes.
fn http() -> Result<Vec<Gate>, Failed> {
    setup::programs(&[NODE, NPM])?;
    setup::go()?;
    let packages = Gate::new("npm", "ci --no-audit --no-fund").inside("node/tests/http");
    let modules = Gate::new("go", "vet .").inside("node/tests/http/go");
    let validators = tested("--test validators -- --ignored clients::");
    Ok(vec![packages, modules, served("-- --ignored"), validators])
}

/// The compiler of the description comes with the Python packages, Go's half of it with the module.
fn sidecar() -> Result<Vec<Gate>, Failed> {
    setup::go()?;
    setup::venv("target/sidecar-python", "node/sidecar/tests/sidecar/python/requirements.txt")?;
    Ok(vec![tested("--test sidecar -- --ignored")])
}

/// Tests of what the devnet serves. As in `tests`, so that nothing is built again.
fn served(more: &str) -> Gate {
    tested(&format!("--test http {more}"))
}

fn vectors() -> Result<Vec<Gate>, Failed> {
    setup::programs(&[Program { name: "python3", package: "python3" }])?;
    setup::venv("target/venv", "crypto-core/tests/external/requirements.txt")?;
    let model = Gate::new("python3", "-m model --check").inside("crypto-core/tests");
    let cases = root().join("target/external-bls.json");
    let cases = cases.to_string_lossy();
    let library = Gate::new("target/venv/bin/python3", "crypto-core/tests/external/bls.py");
    let same = tested("--test schemes -- --ignored external_bls");
    setup::go()?;
    let go = |line| Gate::new("go", line).inside("bindings/go");
    let mut gates = vec![go("vet ./..."), go("test ./...")];
    gates.push(model.beside(library.and(&cases)));
    gates.push(same.with("PREFINAL_EXTERNAL_BLS", &cases));
    Ok(gates)
}

/// The curve's crate, where the backends are. What stands on it is one code for both, and runs on arkworks in
/// `browser`.
fn backends() -> Result<Vec<Gate>, Failed> {
    let curve = "test -p prefinal-bls12-381 --locked --no-default-features --lib --test curve";
    Ok(vec![Gate::cargo(&format!("{curve} --features arkworks,lanes,std,{INTEROP}"))])
}

/// Each feature by itself: what breaks only beside another is rare, and trying every set takes minutes.
/// Crates upon curves need a backend. Those above `pvss-dkg` pass one on, which `codes` does to all
/// but the engines, and have few other features.
fn features() -> Result<Vec<Gate>, Failed> {
    setup::subcommand("hack")?;
    let each = |what: &str| {
        Gate::cargo(&format!("hack clippy --lib --locked --each-feature {what} -- -D warnings"))
    };
    let backend = |name: &str, but: &str| {
        let curve = format!("--features {name} --exclude-features default,{but}");
        // Above the curve's own crate these are passed on and nothing else.
        let above = format!("{curve},lanes,std -p prefinal-crypto-core -p prefinal-pvss-dkg");
        [each(&format!("{curve} -p prefinal-bls12-381")), each(&above)]
    };
    // Beside blst, all conversions together are in `tests`.
    let mut gates = Vec::from(backend("arkworks", "blst"));
    gates.extend(backend("blst", &format!("arkworks,{INTEROP}")));
    gates.push(each("-p prefinal-weighted-rounding -p prefinal-journal"));
    let above = "clippy -p prefinal -p prefinal-codes -p prefinal-jolteon --lib --locked \
                 --no-default-features --features arkworks";
    gates.push(Gate::cargo(&format!("{above} -- -D warnings")));
    Ok(gates)
}

fn targets() -> Result<Vec<Gate>, Failed> {
    setup::targets(&TARGETS)?;
    let build = |target: &str, packages: &str| {
        Gate::cargo(&format!("check --lib --locked --target {target} {packages}"))
    };
    let plain = "-p prefinal-weighted-rounding -p prefinal-protocol";
    let light = "-p prefinal-light --no-default-features --features arkworks";
    let arkworks = "-p prefinal-crypto-core --no-default-features --features arkworks,serde";
    let facade = "-p prefinal --no-default-features --features arkworks";
    let each =
        TARGETS.iter().flat_map(|to| [build(to, plain), build(to, arkworks), build(to, light)]);
    Ok(each.chain([build(WASM_TRIPLE, facade)]).collect())
}

fn platforms() -> Result<Vec<Gate>, Failed> {
    setup::targets(&TARGETS)?;
    setup::programs(&[NODE])?;
    let line = "test -p prefinal-weighted-rounding --test platforms --locked -- --ignored";
    Ok(vec![Gate::cargo(line)])
}

/// Each crate's archive is checked with what it would find in a registry, by the oldest Rust that we
/// promise. Then each dependency is of the oldest release that we ask for.
fn packages() -> Result<Vec<Gate>, Failed> {
    setup::toolchain(OLDEST_RUST)?;
    setup::toolchain("nightly")?;
    let built = "target/publish";
    let package = "target/publish/package";
    setup::no_folder(package)?;
    // Cargo would build each archive to verify it, which takes longer than to check all of them.
    let publish = "publish --workspace --dry-run --no-verify --allow-dirty --locked";
    let unpacked = format!("--manifest-path {package}/Cargo.toml --target-dir {built}");
    setup::folder("target/oldest")?;
    let oldest =
        "-Z direct-minimal-versions --config resolver.lockfile-path=\"target/oldest/Cargo.lock\"";
    let facade = "-p prefinal --features serde,timelock --target-dir target/oldest";
    Ok(vec![
        Gate::cargo(&format!("+{OLDEST_RUST} {publish} --target-dir {built}")),
        Gate::new("xtask/unpack.sh", built),
        Gate::cargo(&format!("+{OLDEST_RUST} check --workspace {unpacked}")),
        Gate::cargo(&format!("+nightly update --quiet {oldest}")),
        Gate::cargo(&format!("+nightly check --quiet {oldest} {facade}")),
    ])
}

/// `rust-version` of the workspace, found by trying: 1.92 lacks `VecDeque::pop_front_if`.
const OLDEST_RUST: &str = "1.93";

/// In the profile of the tests, whose dependencies are built. The environment has nothing of the source
/// tree but the wheel.
fn python() -> Result<Vec<Gate>, Failed> {
    setup::programs(&[Program { name: "python3", package: "python3" }])?;
    setup::venv("target/maturin", "bindings/python/requirements/build.txt")?;
    setup::venv("target/python", "bindings/python/requirements/test.txt")?;
    let wheel = "build --profile dev --locked --out target/wheels";
    let install = "-m pip install --quiet --disable-pip-version-check --no-index --no-deps";
    let here = |program: &str, line: &str| {
        Gate::new(&format!("target/python/bin/{program}"), line).inside("bindings/python")
    };
    let types = here("mypy", "--cache-dir ../../target/mypy");
    let mut gates = vec![
        // Nothing, unless `tests` has not built the command that results are compared with.
        served("--no-run"),
        linted(Gate::new(
            "target/maturin/bin/maturin",
            &format!("{wheel} --manifest-path bindings/python/Cargo.toml"),
        )),
        Gate::new(
            "target/python/bin/python3",
            &format!("{install} --force-reinstall --find-links target/wheels prefinal"),
        ),
        here("python3", "-m pytest -p no:cacheprovider")
            .with("PREFINAL", "../../target/debug/prefinal")
            .beside(types),
        here("pyright", "--pythonpath ../../target/python/bin/python3"),
    ];
    // The wheel is for all from 3.9 on: where another is installed, it has the package and nothing else.
    let ready = |python: &&&str| setup::answers(python, &["-m", "pip", "--version"]);
    if let Some(other) = OTHERS.iter().find(ready) {
        let to = "--upgrade --target target/python-other --find-links target/wheels prefinal";
        gates.push(Gate::new(other, &format!("{install} {to}")));
        let smoke = Gate::new(other, "tests/smoke.py").inside("bindings/python");
        gates.push(smoke.with("PYTHONPATH", "../../target/python-other"));
    }
    Ok(gates)
}

/// Interpreters that are hardly the one of the tests, the oldest first.
const OTHERS: [&str; 5] = ["python3.9", "python3.10", "python3.12", "python3.13", "python3.14"];

/// What the package's README names, and nothing is compiled for the host but what completes the package.
fn package() -> Result<[Gate; 2], Failed> {
    setup::targets(&TARGETS)?;
    setup::programs(&[NODE, NPM])?;
    let inside = |gate: Gate| gate.inside(WASM).with("CARGO_TARGET_DIR", WASM_TARGET);
    Ok([
        Gate::new("npm", "ci --ignore-scripts --no-audit --no-fund").inside(WASM),
        inside(Gate::cargo("run --quiet --locked -p prefinal-wasm-build")),
    ])
}

/// What makes the page.
pub(crate) fn page() -> Result<Vec<Gate>, Failed> {
    package().map(Vec::from)
}

fn browser() -> Result<Vec<Gate>, Failed> {
    setup::components(&["clippy"])?;
    setup::programs(&[Program { name: "chromium", package: "chromium" }])?;
    let [packages, build] = package()?;
    // As `cargo clippy` does, but what is linted is built as well: all dependencies only once.
    let build = build.with("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    // Nothing, unless `tests` has not built the devnet that the page follows.
    let devnet = served("--no-run");
    Ok(vec![packages, build, devnet, Gate::new("npm", "test").inside(WASM)])
}

const WASM: &str = "bindings/wasm";
/// From the package's folder.
const WASM_TARGET: &str = "../../target/wasm";

/// What memcheck says in full, the controls' leaks included, is in the log. Where processors run code that valgrind
/// does not know, the program traces itself as well, half of the cases on each of two cores.
fn constant_time() -> Result<Vec<Gate>, Failed> {
    setup::programs(&[
        Program { name: "cc", package: "gcc" },
        Program { name: "valgrind", package: "valgrind" },
    ])?;
    let build = "build --release --locked --manifest-path crypto-core/constant-time/Cargo.toml";
    let check = "--error-limit=no --suppressions=crypto-core/constant-time/public.supp \
                 --log-file=target/constant-time/memcheck.log \
                 target/constant-time/release/prefinal-constant-time";
    let mut gates = vec![
        Gate::cargo(&format!("{build} --target-dir target/constant-time")),
        Gate::new("valgrind", check),
    ];
    if computes_wide() {
        let half = |part| Gate::new("target/constant-time/release/prefinal-constant-time", part);
        gates.push(half("1/2").beside(half("2/2")));
    }
    Ok(gates)
}

/// What each row takes more or less is printed; the program's head says how counts are stored.
fn instructions() -> Result<Vec<Gate>, Failed> {
    setup::programs(&[
        Program { name: "cc", package: "gcc" },
        Program { name: "valgrind", package: "valgrind" },
    ])?;
    let here = "--release --locked --manifest-path benches/instructions/Cargo.toml \
                --target-dir target/instructions";
    Ok(vec![Gate::cargo(&format!("test {here}")), Gate::cargo(&format!("run {here}"))])
}

/// Each target has a folder of seeds, which are kept in the project; what a run finds beyond them is not. Only
/// what is ours is built once more.
fn fuzz() -> Result<Vec<Gate>, Failed> {
    setup::programs(&[CXX])?;
    let instrument = root().join("xtask/sancov.sh");
    let fuzzer = |more: &str| {
        let gate = workspace(&format!("--test fuzz {more}"));
        gate.with("RUSTC_WORKSPACE_WRAPPER", &instrument.to_string_lossy())
    };
    let run = |target: &String| {
        // What was found from other seeds may be certified by the same committee, and is no seed's.
        let seeds = setup::digest(&format!("testing/fuzz/seeds/{target}"))?;
        let found = format!("target/fuzz/{target}-{seeds:016x}");
        setup::folder(&found)?;
        let found = root().join(found);
        let limits = format!("-max_total_time={FUZZ_SECONDS} -timeout=10 -seed=1");
        let gate = fuzzer(&format!("-- {limits}")).and(&found.to_string_lossy());
        Ok(gate.and(&format!("seeds/{target}")).with("PREFINAL_TARGET", target))
    };
    let mut gates = vec![fuzzer("--no-run")];
    for pair in setup::names("testing/fuzz/seeds")?.chunks(2) {
        let pair: Result<Vec<Gate>, Failed> = pair.iter().map(run).collect();
        gates.extend(pair?.into_iter().reduce(Gate::beside));
    }
    Ok(gates)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Nobody promises that Clippy is told in this way.
    #[test]
    fn a_lint_is_an_error() {
        let linted = |source: &str| {
            let file =
                std::env::temp_dir().join(format!("prefinal-linted-{}.rs", std::process::id()));
            std::fs::write(&file, source).unwrap();
            let mut clippy = Command::new("clippy-driver");
            clippy.args([
                "rustc",
                "--crate-type=lib",
                "--emit=metadata",
                "--crate-name=linted",
                "-o",
            ]);
            clippy.arg(file.with_extension("rmeta")).arg(&file).env("CLIPPY_ARGS", DENY_WARNINGS);
            let passed = clippy.output().unwrap().status.success();
            std::fs::remove_file(&file).unwrap();
            let _ = std::fs::remove_file(file.with_extension("rmeta"));
            passed
        };
        assert!(linted("pub fn none(of: &[u8]) -> bool { of.is_empty() }"));
        assert!(!linted("pub fn none(of: &[u8]) -> bool { of.len() == 0 }"));
    }
}
