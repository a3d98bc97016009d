//! A change of the committee while it runs, step by step as the runbook has it.
use std::fs;

use crate::net::{Net, run_at};

/// The epoch that a validator is in, if it answers.
pub(crate) fn epoch(net: &Net, validator: usize) -> Option<u64> {
    net.status(validator)?["epoch"].as_u64()
}

/// Lets a validator that has keys join in place of another one, which may be away. Those that stay run, and approve.
pub(crate) fn replace(net: &mut Net, old: usize, new: usize, staying: &[usize]) {
    let (application, draft) = (net.file("application"), net.file("draft"));
    let consents: Vec<_> = staying.iter().map(|one| net.file(&format!("consent-{one}"))).collect();
    for file in [&application, &draft].into_iter().chain(&consents) {
        // Those of an earlier change.
        let _ = fs::remove_file(file);
    }
    let next = epoch(net, staying[0]).unwrap() + 1;
    let number = next.to_string();
    run_at(&net.home(new), &["committee", "apply", "--epoch", &number, "--out", &application]);
    let (leaves, joins) = (format!("validator-{old}=0"), format!("{application}=100"));
    let line = ["committee", "draft", "--stake", &leaves, "--newcomer", &joins, "--out", &draft];
    run_at(&net.home(staying[0]), &line);
    run_at(&net.home(new), &["committee", "join", &draft]);
    let registration = net.home(new).join("registration.json");
    for one in staying {
        run_at(&net.home(*one), &["peers", "--add", registration.to_str().unwrap()]);
    }
    net.start(new);
    for (one, consent) in staying.iter().zip(&consents) {
        run_at(&net.home(*one), &["committee", "approve", &draft, "--out", consent]);
    }
    let consents: Vec<_> = consents.iter().map(String::as_str).collect();
    run_at(&net.home(staying[1]), &[&["committee", "submit", &draft], &consents[..]].concat());
    let all = [staying, &[new]].concat();
    let what = format!("{all:?} are in epoch {next}");
    net.wait(&what, |net| all.iter().all(|one| epoch(net, *one) == Some(next)));
    net.joined.insert(new);
}

/// A machine whose disk is lost gets a home with new keys, under a new name and at the same addresses.
pub(crate) fn lose_disk(net: &Net, old: usize, new: usize, genesis: usize) {
    let config = net.config(old);
    let http = config.http.listen.unwrap().to_string();
    fs::remove_dir_all(net.home(old)).unwrap();
    let (links, engine) = (config.links.listen.to_string(), config.engine.listen.to_string());
    run_at(&net.home(new), &["keys", "new", "--links", &links, "--engine", &engine]);
    let genesis = net.home(genesis).join("genesis.json");
    let genesis = genesis.to_str().unwrap();
    run_at(&net.home(new), &["init", "--genesis", genesis, "--http", &http]);
}
