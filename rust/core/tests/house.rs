//! The house rules of `src/`: modules import from each other in one direction, and a `mod.rs` only declares.
//!
//! What counts as an import is every path that starts with `crate`, `super` or `self`, in a `use` or anywhere else, outside
//! of `#[cfg(test)]`. A name that a `mod.rs` re-exports is followed to the file that defines it. Among the modules of one
//! folder, a folder stands for all files below it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module by the names on the way to it; the root is empty.
type Module = Vec<String>;
/// Modules of one folder, and which of them each one imports from.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[derive(Default)]
struct Crate {
    /// The tokens of each module.
    modules: BTreeMap<Module, Vec<String>>,
    /// The modules that are a `mod.rs` or `lib.rs`, and what each name that they re-export stands for.
    folders: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Crate {
    /// A crate of files, by their paths below `src/`.
    fn new(files: &[(String, String)]) -> Self {
        let mut found = Self::default();
        for (path, text) in files {
            let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if module.last().is_some_and(|name| name == "mod" || name == "lib") {
                module.pop();
                found.folders.insert(module.clone(), BTreeMap::new());
            }
            found.modules.insert(module, without_tests(&tokens(text)));
        }
        for (folder, names) in &mut found.folders {
            let tokens = &found.modules[folder];
            for at in (0..tokens.len()).filter(|&at| tokens[at] == "use") {
                let mut paths = Vec::new();
                tree(tokens, &mut (at + 1), &[], &mut paths);
                names.extend(paths.into_iter().map(|(path, name)| (name, absolute(folder, 0, &path))));
            }
        }
        found
    }

    /// Items that a `mod.rs` defines itself.
    fn defined_in_folders(&self) -> Vec<String> {
        let items = ["const", "enum", "fn", "impl", "macro_rules", "static", "struct", "trait", "type", "union"];
        let defines = |folder: &&Module| self.modules[*folder].iter().any(|token| items.contains(&&**token));
        self.folders.keys().filter(defines).map(|folder| folder.join("::")).collect()
    }

    /// The circles among the modules of each folder.
    fn circles(&self) -> Vec<String> {
        let mut graphs: BTreeMap<Module, Graph> = BTreeMap::new();
        for (from, tokens) in self.modules.iter().filter(|(module, _)| !self.folders.contains_key(*module)) {
            for path in imports(from, tokens) {
                let to = self.defining(&path);
                let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if from != &to {
                    let graph = graphs.entry(from[..common].to_vec()).or_default();
                    graph.entry(from[common].clone()).or_default().insert(to[common].clone());
                }
            }
        }
        graphs.into_iter().filter_map(|(folder, graph)| circle(&folder, graph)).collect()
    }

    /// The file that a path leads to.
    fn defining(&self, path: &[String]) -> Module {
        let mut module = Module::new();
        for name in path {
            let inner = [&module[..], std::slice::from_ref(name)].concat();
            if self.modules.contains_key(&inner) {
                module = inner;
            } else if let Some(names) = self.folders.get(&module) {
                let target = names.get(name).unwrap_or_else(|| panic!("{module:?} does not re-export {name}"));
                return self.defining(target);
            } else {
                break;
            }
        }
        assert!(!self.folders.contains_key(&module), "{path:?} imports a folder: import what is in it");
        module
    }
}

/// What is left of the graph when modules that no circle goes through are taken away again and again.
fn circle(folder: &[String], mut graph: Graph) -> Option<String> {
    loop {
        let before = graph.len();
        let imported: BTreeSet<String> = graph.values().flatten().cloned().collect();
        graph.retain(|module, _| imported.contains(module));
        let modules: BTreeSet<String> = graph.keys().cloned().collect();
        for imports in graph.values_mut() {
            imports.retain(|module| modules.contains(module));
        }
        graph.retain(|_, imports| !imports.is_empty());
        if graph.len() == before {
            return (before > 0).then(|| format!("{}: {graph:?}", folder.join("::")));
        }
    }
}

/// The paths of a file, from the root.
fn imports(module: &[String], tokens: &[String]) -> Vec<Module> {
    let (mut found, mut at, mut depth, mut inline) = (Vec::new(), 0, 0, Vec::new());
    while at < tokens.len() {
        let before = |back: usize| at.checked_sub(back).map_or("", |place| &tokens[place]);
        let starts =
            ["crate", "super", "self"].contains(&&*tokens[at]) && tokens.get(at + 1).is_some_and(|t| t == "::");
        let is_visibility = before(1) == "in" && before(2) == "(";
        if starts && !is_visibility && before(1) != "::" {
            let mut paths = Vec::new();
            tree(tokens, &mut at, &[], &mut paths);
            found.extend(paths.into_iter().map(|(path, _)| absolute(module, inline.len(), &path)));
            continue;
        }
        match &*tokens[at] {
            "{" => {
                if before(2) == "mod" {
                    inline.push(depth);
                }
                depth += 1;
            }
            "}" => {
                depth -= 1;
                inline.pop_if(|opened| *opened == depth);
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// A path, or a tree of them, from `at` on, each with the name that it gets.
fn tree(tokens: &[String], at: &mut usize, prefix: &[String], found: &mut Vec<(Module, String)>) {
    let mut path = prefix.to_vec();
    loop {
        match &*tokens[*at] {
            "{" => {
                *at += 1;
                while tokens[*at] != "}" {
                    tree(tokens, at, &path, found);
                    *at += usize::from(tokens[*at] == ",");
                }
                *at += 1;
                return;
            }
            "*" => *at += 1,
            // An argument of a generic function.
            "<" => {}
            "self" if !path.is_empty() => *at += 1,
            name => {
                path.push(name.to_owned());
                *at += 1;
            }
        }
        if tokens[*at] != "::" {
            break;
        }
        *at += 1;
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens[*at] == "as" {
        name.clone_from(&tokens[*at + 1]);
        *at += 2;
    }
    found.push((path, name));
}

/// A path that is seen in a module, `inline` modules deep within its file.
fn absolute(module: &[String], mut inline: usize, path: &[String]) -> Module {
    let mut base = module.to_vec();
    let mut names = path;
    while let Some((first, rest)) = names.split_first() {
        match &**first {
            "crate" => base.clear(),
            "super" if inline > 0 => inline -= 1,
            "super" => drop(base.pop()),
            "self" => {}
            _ => break,
        }
        names = rest;
    }
    base.extend_from_slice(names);
    base
}

/// Names, `::` and single characters; neither comments nor literals.
fn tokens(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if is_name(first) {
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else if first == '"' {
            literal(rest, '"')
        } else if first == '\'' && (rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'')) {
            literal(rest, '\'')
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() && !rest.starts_with("//") && !['"', '\''].contains(&first) {
            found.push(rest[..length].to_owned());
        }
        rest = &rest[length..];
    }
    found
}

/// Bytes of the literal that `text` begins with.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = true;
    let end = text.char_indices().find(|&(_, c)| {
        let closes = c == quote && !escaped;
        escaped = !escaped && c == '\\';
        closes
    });
    end.map_or(text.len(), |(end, _)| end + 1)
}

/// The tokens without the items that are for tests only.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if tokens[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]"].map(str::to_owned)) {
            let mut depth = 0;
            loop {
                depth += i32::from(tokens[at] == "{") - i32::from(tokens[at] == "}");
                let ends = tokens[at] == "}" || tokens[at] == ";";
                at += 1;
                if ends && depth == 0 {
                    break;
                }
            }
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

fn files(folder: &Path, below: &str, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the entry is readable").path();
        let name = format!("{below}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            files(&path, &format!("{name}/"), found);
        } else {
            found.push((name, std::fs::read_to_string(&path).expect("the source is text")));
        }
    }
}

fn source() -> Crate {
    let mut found = Vec::new();
    files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), "", &mut found);
    assert!(found.len() > 40, "only {} files", found.len());
    Crate::new(&found)
}

#[test]
fn modules_import_in_one_direction() {
    let circles = source().circles();
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn folders_only_declare() {
    assert_eq!(source().defined_in_folders(), Vec::<String>::new());
}

#[test]
fn circles_are_found() {
    let circles = |files: &[(&str, &str)]| {
        let files: Vec<_> = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
        Crate::new(&files).circles()
    };
    let lib = ("lib.rs", "mod a; mod b;");
    let one = ("a.rs", "use crate::b::B;");
    assert!(circles(&[lib, one, ("b.rs", "")]).is_empty());
    assert_eq!(circles(&[lib, one, ("b.rs", "use super::{a::{self, A}};")]).len(), 1);
    assert_eq!(circles(&[lib, one, ("b.rs", "fn b() -> u8 { '\"'; crate::a::f::<u8>() }")]).len(), 1);
    assert_eq!(circles(&[lib, one, ("b.rs", "mod inner { use super::super::a::A; }")]).len(), 1);
    assert!(circles(&[lib, one, ("b.rs", "struct B; mod inner { use super::B; }")]).is_empty());
    assert!(circles(&[lib, one, ("b.rs", "#[cfg(test)] mod tests { use crate::a::A; } // crate::a::A")]).is_empty());
    // A name of a folder leads to its file; files of one folder are its own affair, and folders are that of theirs.
    let folder = ("b/mod.rs", "mod c; mod d; pub(crate) use c::{B as A, B};");
    let used = ("b/d.rs", "use crate::a::A;");
    assert_eq!(circles(&[lib, one, folder, ("b/c.rs", "use crate::a::A;"), ("b/d.rs", "")]).len(), 1);
    assert_eq!(circles(&[lib, one, folder, ("b/c.rs", ""), used]).len(), 1);
    assert_eq!(circles(&[lib, folder, ("b/c.rs", "use super::d::D;"), ("b/d.rs", "use super::A;")]).len(), 1);
    assert!(circles(&[lib, folder, ("b/c.rs", "use super::d::D;"), ("b/d.rs", "")]).is_empty());
}
