//! A devnet whose committee changes while it runs.
use crate::{COSTS, Folder, SEVEN, misused, prefinal, refused, text, utf8};

/// A devnet of three committees; what it printed, and whether its files verify.
fn changed(engine: &str, scheme: &str) -> String {
    let folder = Folder::new();
    let (table, file) = (folder.file("seven.csv", SEVEN), folder.path("values.json"));
    let fixed = ["devnet", "--parties", "4", "--regions", "none", "--slots", "24"];
    let epochs = ["--epochs", "3", "--join", "1", "--leave", "1"];
    let own =
        ["--engine", engine, "--scheme", scheme, "--stakes", utf8(&table), "--out", utf8(&file)];
    let output = prefinal(fixed.into_iter().chain(epochs).chain(own));
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    assert!(printed.contains("of 6 parties in "), "{printed}");
    for epoch in ["epoch 1", "epoch 2"] {
        assert!(printed.contains(&format!("{epoch}: 4 parties, 1 joined, 1 left")), "{printed}");
    }
    let files: Vec<&str> = printed.lines().filter(|line| line.starts_with("written to")).collect();
    // One key, or one for each epoch.
    assert_eq!(files.len(), if scheme == "bls" { 1 } else { 3 }, "{printed}");
    for line in files {
        let file = line.rsplit(' ').next().expect("its name is the last word");
        let output = prefinal(["verify", file]);
        assert!(output.status.success(), "{file}: {}", text(&output.stderr));
    }
    printed
}

#[test]
fn parties_join_and_leave_and_the_group_key_stays() {
    let printed = changed("jolteon", "bls");
    assert_eq!(printed.matches("the same group key").count(), 2, "{printed}");
}

#[test]
fn each_committee_of_the_vuf_has_a_key_of_its_own() {
    let printed = changed("malachite", "wvuf");
    assert_eq!(printed.matches("another group key").count(), 2, "{printed}");
}

#[test]
fn the_simulator_changes_committees_as_well() {
    let folder = Folder::new();
    let (table, costs) = (folder.file("seven.csv", SEVEN), folder.file("costs.json", COSTS));
    for engine in ["jolteon", "malachite"] {
        let out = folder.path(engine);
        let output = prefinal([
            "simulate",
            "--stakes",
            utf8(&table),
            "--parties",
            "5",
            "--slots",
            "60",
            "--epochs",
            "3",
            "--join",
            "1",
            "--leave",
            "1",
            "--engine",
            engine,
            "--costs",
            utf8(&costs),
            "--out",
            utf8(&out),
        ]);
        let printed = text(&output.stdout);
        assert!(output.status.success(), "{printed}{}", text(&output.stderr));
        for epoch in ["epoch 1 began with slot", "epoch 2 began with slot"] {
            assert!(printed.contains(epoch), "{engine}: {printed}");
        }
    }
}

#[test]
fn changes_that_leave_no_committee_are_refused() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let of = |more: &[&'static str]| {
        let fixed = ["devnet", "--stakes", utf8(&table), "--parties", "4"];
        fixed.into_iter().chain(more.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
    };
    let few = of(&["--epochs", "3", "--join", "2"]);
    let few: Vec<&str> = few.iter().map(String::as_str).collect();
    refused(&few, &["--parties 4", "4 that join", "7"]);
    let none = of(&["--epochs", "3", "--leave", "2"]);
    let none: Vec<&str> = none.iter().map(String::as_str).collect();
    refused(&none, &["--leave 2", "epoch 2"]);
    misused(&["devnet", "--join", "2"], &["--join", "--epochs"]);
    misused(&["devnet", "--epochs", "0"], &["--epochs", "0"]);
}
