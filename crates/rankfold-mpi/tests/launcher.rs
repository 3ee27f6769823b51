//! What `rankfold-mpirun` does beside running a program in C: whole lines, all orders of messages, traces, and a folder that
//! it removes. They need a C compiler.
#![cfg(feature = "exports")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compiles the program of the corpus about orders; `None` if there is no compiler. Each test has its own folder.
fn compiled(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/wrong/orders.c");
    made(folder, "cc", &["-O0", "-Wall", "-Werror"], &source)
}

/// Compiles this text.
fn made_of(test: &str, compiler: &str, flags: &[&str], text_of: &str) -> Option<PathBuf> {
    let place = folder(test);
    let source = place.join(if compiler == "cc" { "it.c" } else { "it.cpp" });
    fs::create_dir_all(&place).unwrap();
    fs::write(&source, text_of).unwrap();
    made(&place, compiler, flags, &source)
}

fn made(folder: &Path, compiler: &str, flags: &[&str], source: &Path) -> Option<PathBuf> {
    Command::new(compiler).arg("--version").output().ok()?;
    fs::create_dir_all(folder).unwrap();
    let program = folder.join("program");
    let made = Command::new(env!("CARGO_BIN_EXE_rankfold-mpicc"))
        .env("RANKFOLD_CC", compiler)
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(made.unwrap().success());
    Some(program)
}

fn folder(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("launcher-{test}"))
}

fn run(options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankfold-mpirun"));
    command.args(options).arg(program).args(arguments);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn lines_come_out_whole_and_labelled_with_their_rank() {
    let Some(program) = compiled(&folder("lines")) else {
        return;
    };
    let output = run(&["-n", "4", "--label"], &program, &[]);
    let lines = text(&output.stdout);
    for rank in 0..4 {
        let own = lines
            .lines()
            .filter(|line| line.starts_with(&format!("[{rank}] ")));
        let expected = (1..=20).map(|call| format!("[{rank}] rank {rank} says {}", call % 10));
        assert_eq!(own.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
    assert_eq!(lines.lines().count(), 80);
}

#[test]
fn an_exploration_runs_all_orders_and_prints_what_repeats_a_failure() {
    let Some(program) = compiled(&folder("orders")) else {
        return;
    };
    let all = run(&["-n", "4", "--explore"], &program, &[]);
    assert!(all.status.success());
    assert_eq!(
        (text(&all.stdout), text(&all.stderr)),
        (String::new(), "6 orders, complete\n".into())
    );

    let found = run(&["-n", "3", "--explore"], &program, &["first"]);
    let report = text(&found.stderr);
    // The second run, with variables as at the start; of its output the line without an end is there too.
    assert!(
        report.starts_with("the first is 2 after 20\nrank 0: MPI_Abort at "),
        "{report}"
    );
    let took =
        "rank 0: MPI_Recv(from any, tag 0) took the message of rank 2 (there were those of 1, 2)";
    assert!(
        report.contains("after 1 run that went well, in this order:") && report.contains(took),
        "{report}"
    );
    assert!(
        report.ends_with("seed order:1 repeats this run\n"),
        "{report}"
    );
    let again = run(&["-n", "3", "--seed", "order:1"], &program, &["first"]);
    assert!(text(&again.stderr).contains(took) && !again.status.success());
    assert!(
        run(&["-n", "3", "--seed", "order:0"], &program, &["first"])
            .status
            .success()
    );
}

#[test]
fn a_trace_names_messages_as_mpi_does() {
    let place = folder("trace");
    let Some(program) = compiled(&place) else {
        return;
    };
    let file = place.join("t.json");
    let output = run(
        &["-n", "2", "--trace", file.to_str().unwrap()],
        &program,
        &[],
    );
    assert!(output.status.success());
    let trace = fs::read_to_string(file).unwrap();
    assert!(trace.starts_with("{\"displayTimeUnit\""));
    // Lines are those of the program, and of the call that is named.
    assert!(!trace.contains("crates/rankfold-mpi/src"));
    for (call, line) in [
        ("MPI_Recv(from any, tag 0)", "orders.c:"),
        ("MPI_Init", "orders.c:"),
    ] {
        let of = format!("\"call\":\"{call}\",\"at\":\"");
        let places = trace
            .match_indices(&of)
            .map(|(at, _)| &trace[at + of.len()..]);
        assert!(places.clone().count() > 0, "{call}");
        for place in places {
            assert!(
                place.split('"').next().unwrap().contains(line),
                "{call}: {place:.60}"
            );
        }
    }
    assert!(
        trace.contains("\"MPI_Recv(from any, tag 0)\"")
            && trace.contains("\"MPI_Send(to 0, tag 0)\"")
    );
}

#[test]
fn no_folder_is_left_behind() {
    let place = folder("left");
    let Some(program) = compiled(&place) else {
        return;
    };
    let temporary = place.join("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let no_object = place.join("text");
    fs::write(&no_object, "no object").unwrap();
    let absent = place.join("absent");
    for (program, well) in [(&program, true), (&no_object, false), (&absent, false)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rankfold-mpirun"));
        let output = command
            .args(["-n", "2"])
            .arg(program)
            .env("TMPDIR", &temporary)
            .output();
        assert_eq!(
            output.unwrap().status.success(),
            well,
            "{}",
            program.display()
        );
        assert_eq!(
            fs::read_dir(&temporary).unwrap().count(),
            0,
            "{}",
            program.display()
        );
    }
}

#[test]
fn a_program_in_cpp_is_compiled_and_prints_whole_lines() {
    let text_of = "#include <mpi.h>\n#include <cstdio>\n#include <iostream>\n\
        int main(int argc, char **argv) {\n  int rank;\n  MPI_Init(&argc, &argv);\n\
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  std::printf(\"rank \");\n  std::printf(\"%d\\n\", rank);\n\
        for (int i = 0; i < 50; i++) std::cout << \"cout \" << rank << \" of\" << ' ' << 1.5 << std::endl;\n\
        if (argc > 1) {\n    std::ios::sync_with_stdio(false);\n    std::cout << \"alone\\n\";\n  }\n\
        MPI_Finalize();\n}\n";
    let flags = ["-Wall"];
    let Some(program) = made_of("cpp", "c++", &flags, text_of) else {
        return;
    };
    let output = text(&run(&["-n", "3", "--label"], &program, &[]).stdout);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let count = |line: &str| lines.iter().filter(|it| **it == line).count();
    for rank in 0..3 {
        assert_eq!(count(&format!("[{rank}] rank {rank}")), 1);
        assert_eq!(count(&format!("[{rank}] cout {rank} of 1.5")), 50);
    }
    assert_eq!(lines.len(), 153);
    // Without the streams of C it comes out as it is.
    let alone = text(&run(&["-n", "1"], &program, &["alone"]).stdout);
    assert_eq!(alone.lines().last(), Some("alone"), "{alone}");
}

#[test]
fn each_rank_has_the_inline_variables_of_a_program_in_cpp_for_itself() {
    let text_of = "#include <mpi.h>\n#include <cstdio>\ninline int me = -1;\n\
        template <class T> struct of { static T kept; };\ntemplate <class T> T of<T>::kept = -1;\n\
        inline int &first(int rank) {\n  static int it = rank;\n  return it;\n}\n\
        int main(int argc, char **argv) {\n  int rank;\n  MPI_Init(&argc, &argv);\n\
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  me = rank;\n  of<long>::kept = rank;\n  first(rank);\n\
        MPI_Barrier(MPI_COMM_WORLD);\n  std::printf(\"%d %d %ld %d\\n\", rank, me, of<long>::kept, first(9));\n\
        MPI_Finalize();\n}\n";
    let flags = ["-std=c++17"];
    let Some(program) = made_of("inline", "c++", &flags, text_of) else {
        return;
    };
    let output = text(&run(&["-n", "3"], &program, &[]).stdout);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 0 0 0", "1 1 1 1", "2 2 2 2"]);
}

#[test]
fn every_function_is_declared_and_links_under_both_its_names() {
    let parts = rankfold_mpi::exports::functions();
    let names: Vec<&str> = parts
        .iter()
        .flat_map(|part| part.functions.iter().copied())
        .collect();
    assert!(names.len() > 600, "{}", names.len());
    let pointers: Vec<String> = names
        .iter()
        .map(|it| format!("(void *){it}, (void *)P{it}"))
        .collect();
    let text_of = format!(
        "#include <mpi.h>\nvoid *all[] = {{{}}};\nint main(void) {{\n  MPI_Init(0, 0);\n  MPI_Finalize();\n  \
         return 0;\n}}\n",
        pointers.join(",\n")
    );
    let flags = ["-Wall", "-Werror"];
    let Some(program) = made_of("links", "cc", &flags, &text_of) else {
        return;
    };
    let output = run(&["-n", "2"], &program, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_program_profiles_calls_by_functions_of_its_own() {
    let text_of = "#include <mpi.h>\n#include <stdio.h>\nstatic int calls;\n\
        int MPI_Barrier(MPI_Comm comm) {\n  calls++;\n  return PMPI_Barrier(comm);\n}\n\
        int main(int argc, char **argv) {\n  MPI_Init(&argc, &argv);\n  MPI_Barrier(MPI_COMM_WORLD);\n\
        MPI_Barrier(MPI_COMM_SELF);\n  printf(\"%d calls\\n\", calls);\n  MPI_Finalize();\n}\n";
    let flags = ["-Wall"];
    let Some(program) = made_of("profiles", "cc", &flags, text_of) else {
        return;
    };
    let output = run(&["-n", "2"], &program, &[]);
    assert_eq!(text(&output.stdout), "2 calls\n2 calls\n");
}

#[test]
fn what_a_program_leaves_is_told() {
    let text_of = "#include <mpi.h>\nint main(int argc, char **argv) {\n  MPI_Comm comm;\n  MPI_Datatype types[2];\n\
        MPI_Request request;\n  int got;\n  MPI_Init(&argc, &argv);\n  MPI_Comm_dup(MPI_COMM_WORLD, &comm);\n\
        MPI_Type_contiguous(2, MPI_INT, &types[0]);\n  MPI_Type_dup(types[0], &types[1]);\n  MPI_Type_free(&types[0]);\n\
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request);\n  MPI_Finalize();\n}\n";
    let flags = ["-Wall"];
    let Some(program) = made_of("leaves", "cc", &flags, text_of) else {
        return;
    };
    let output = run(&["-n", "2"], &program, &[]);
    assert!(output.status.success());
    let left = "left at MPI_Finalize: 1 pending request, 1 communicator, 1 datatype";
    for rank in 0..2 {
        assert!(text(&output.stderr).contains(&format!("rank {rank}: {left}\n")));
    }
}

/// Calls on files that return, twice, and a receive that was freed and whose message is too long.
const RETURNED: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_File file;
    MPI_Request request;
    int one, two[2] = {1, 2}, rank, size, code;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 2; i++) {
        code = MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        if (code == MPI_SUCCESS) return 1;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Irecv(&one, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    if (MPI_Send(two, 2, MPI_INT, rank, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return 2;
    size = -1;
    if (MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS || size != 2) return 3;
    if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) return 4;
    return MPI_Finalize();
}
"#;

#[test]
fn errors_that_a_program_may_not_see_are_told_at_the_end() {
    let Some(program) = made_of("returned", "cc", &["-O0", "-w"], RETURNED) else {
        return;
    };
    let output = run(&["-n", "2"], &program, &[]);
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    let lines = |of: &str| told.lines().filter(|line| line.contains(of)).count();
    assert_eq!(lines("MPI_File_open at "), 1, "{told}");
    let freed = "MPI_ERR_TRUNCATE: in an operation whose request was freed: ";
    assert_eq!((lines(freed), told.lines().count()), (2, 3), "{told}");
}

#[test]
fn of_many_operations_that_fail_after_their_requests_were_freed_a_few_are_told() {
    let source = r#"
        #include <mpi.h>
        int main(int argc, char **argv) {
            int one, two[2] = {1, 2};
            MPI_Request request;
            MPI_Init(&argc, &argv);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
            for (int i = 0; i < 100; i++) {
                MPI_Irecv(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
                MPI_Request_free(&request);
                MPI_Send(two, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
            }
            MPI_Finalize();
            return 0;
        }
    "#;
    let Some(program) = made_of("many-freed", "cc", &["-O0"], source) else {
        return;
    };
    let output = run(&["-n", "1"], &program, &[]);
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert_eq!(told.matches("MPI_ERR_TRUNCATE").count(), 8, "{told}");
    let rest = "rank 0: 92 further operations failed whose requests were freed";
    assert!(told.contains(rest) && told.lines().count() == 9, "{told}");
}

/// Functions under names of the C library, which another file of the program calls.
const OWN: &str = r#"
    int optind = 7;
    long random(void) { return 4; }
    int getopt(int count, char *const *all, const char *letters) { return -7; }
    static double drand48(void) { return 2; }
    double drawn(void) { return drand48(); }
"#;

#[test]
fn functions_of_the_program_under_names_of_the_c_library_are_called_from_all_its_files() {
    let source = r#"
        #include <mpi.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        double drawn(void);
        int main(int argc, char **argv) {
            MPI_Init(&argc, &argv);
            double first = drand48();
            printf("%ld %d %d %g %d\n", random(), getopt(argc, argv, ""), optind, drawn(), 0 <= first && first < 1);
            return MPI_Finalize();
        }
    "#;
    let place = folder("own-functions-other");
    fs::create_dir_all(&place).unwrap();
    let other = place.join("other.c");
    fs::write(&other, OWN).unwrap();
    let other = other.to_str().unwrap();
    for how in ["-g", "-s"] {
        let flags = ["-O1", "-w", how, other];
        let test = format!("own-functions{how}");
        let Some(program) = made_of(&test, "cc", &flags, source) else {
            return;
        };
        let output = run(&["-n", "2"], &program, &[]);
        assert_eq!(text(&output.stdout), "4 -7 7 2 1\n".repeat(2), "{how}");
    }
}

/// The library writes `optind` itself, which other files than that of the definition read; and it calls `fileno`.
#[test]
fn a_program_that_defines_optind_and_no_getopt_reads_what_getopt_writes_and_one_with_fileno_runs() {
    let source = r#"
        #include <mpi.h>
        #include <stdio.h>
        #include <unistd.h>
        int fileno(FILE *file) { return 3; }
        int main(int argc, char **argv) {
            MPI_Init(&argc, &argv);
            while (getopt(argc, argv, "ab") != -1) continue;
            printf("%d %d\n", optind, fileno(stdout));
            return MPI_Finalize();
        }
    "#;
    let place = folder("own-optind-other");
    fs::create_dir_all(&place).unwrap();
    let other = place.join("other.c");
    fs::write(&other, "int optind = 1;").unwrap();
    let flags = ["-O1", "-w", other.to_str().unwrap()];
    let Some(program) = made_of("own-optind", "cc", &flags, source) else {
        return;
    };
    let output = run(&["-n", "2"], &program, &["-a", "-b"]);
    let errors = text(&output.stderr);
    assert_eq!(text(&output.stdout), "3 3\n".repeat(2), "{errors}");
}
