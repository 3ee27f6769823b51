//! The header `mpi.h` for programs in C, made from the same lists as the functions and values themselves.

use std::fmt::Write;

use crate::abi::{CLASSES, HANDLES, NUMBERS};
use crate::exports::{CONVERSIONS, signatures};

/// The name of a function, and the names and types of its arguments in Rust.
pub(crate) type Signature = (&'static str, &'static [(&'static str, &'static str)]);

const BEFORE: &str =
    "/* Made by rankfold-mpi: MPI's C interface, with the values of the standard ABI of MPI 5.0. */
#ifndef RANKFOLD_MPI_H
#define RANKFOLD_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

#define MPI_VERSION 3
#define MPI_SUBVERSION 1

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;
typedef int64_t MPI_Offset;
typedef int MPI_Fint;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
typedef MPI_Status MPI_F08_status;

";

const BETWEEN: &str = "
#define MPI_SUCCESS 0
#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_BUFFER_AUTOMATIC ((void *)2)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_ERRCODES_IGNORE ((int *)0)
#define MPI_ARGV_NULL ((char **)0)
#define MPI_ARGVS_NULL ((char ***)0)
#define MPI_UNWEIGHTED ((int *)10)
#define MPI_WEIGHTS_EMPTY ((int *)11)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX

typedef void MPI_User_function(void *, void *, int *, MPI_Datatype *);
typedef void MPI_User_function_c(void *, void *, MPI_Count *, MPI_Datatype *);
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void *, void *, void *, int *);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void *, void *);
typedef void MPI_Comm_errhandler_function(MPI_Comm *, int *, ...);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef int MPI_Win_copy_attr_function(MPI_Win, int, void *, void *, void *, int *);
typedef int MPI_Win_delete_attr_function(MPI_Win, int, void *, void *);
typedef int MPI_Type_copy_attr_function(MPI_Datatype, int, void *, void *, void *, int *);
typedef int MPI_Type_delete_attr_function(MPI_Datatype, int, void *, void *);
typedef void MPI_Win_errhandler_function(MPI_Win *, int *, ...);
typedef void MPI_Session_errhandler_function(MPI_Session *, int *, ...);
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
typedef void MPI_File_errhandler_function(MPI_File *, int *, ...);
typedef int MPI_Grequest_query_function(void *, MPI_Status *);
typedef int MPI_Grequest_free_function(void *);
typedef int MPI_Grequest_cancel_function(void *, int);
typedef int MPI_Datarep_extent_function(MPI_Datatype, MPI_Aint *, void *);
typedef int MPI_Datarep_conversion_function(void *, MPI_Datatype, int, void *, MPI_Offset, void *);
typedef int MPI_Datarep_conversion_function_c(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset, void *);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
#define MPI_F_STATUS_SIZE 8
#define MPI_F_STATUS_IGNORE ((MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint *)0)
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status *)0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)0)
#define MPI_F_SOURCE 0
#define MPI_F_TAG 1
#define MPI_F_ERROR 2
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *)0)
#define MPI_DISPLACEMENT_CURRENT (-1)
#define MPI_MAX_DATAREP_STRING 128
#define MPI_NULL_COPY_FN MPI_COMM_NULL_COPY_FN
#define MPI_DUP_FN MPI_COMM_DUP_FN
#define MPI_NULL_DELETE_FN MPI_COMM_NULL_DELETE_FN
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function *)0)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function *)1)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function *)0)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function *)0)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function *)1)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function *)0)
";

/// Functions that no list defines.
const SPECIAL: [&str; 10] = [
    "int MPI_Init(int *argc, char ***argv);",
    "int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);",
    "int MPI_Finalize(void);",
    "int MPI_T_finalize(void);",
    "int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session);",
    "int MPI_Pcontrol(const int level, ...);",
    "double MPI_Wtime(void);",
    "double MPI_Wtick(void);",
    "MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint disp);",
    "MPI_Aint MPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2);",
];

const AFTER: &str = "
#ifdef __cplusplus
}
#endif
#endif
";

/// The type of an argument whose size depends on the function.
fn sized(function: &str, ty: &str) -> String {
    let (count, displacement) = match function.ends_with("_c") {
        true => ("MPI_Count", "MPI_Aint"),
        false => ("c_int", "c_int"),
    };
    match ty.rsplit_once(' ').unwrap_or(("", ty)) {
        (before, "Count") => format!("{before} {count}").trim_start().into(),
        (before, "Displacement") => format!("{before} {displacement}"),
        _ => ty.into(),
    }
}

/// The declaration of an argument in C.
fn declaration(name: &str, ty: &str) -> String {
    let ty: String = ty.split_whitespace().collect::<Vec<_>>().join(" ");
    let ty = ty.replace("* const ", "*const ").replace("* mut ", "*mut ");
    let function = ty
        .strip_prefix("Option<")
        .and_then(|rest| rest.strip_suffix('>'));
    match (function, ty.as_str()) {
        (Some(function), _) => format!("{} *{name}", function.trim()),
        (_, "*mut [c_int; 3]") => format!("int {name}[][3]"),
        (_, other) => format!("{}{name}", pointer(other)),
    }
}

/// A type in C, with a space at its end unless it is a pointer.
fn pointer(ty: &str) -> String {
    if let Some(inner) = ty.strip_prefix("*mut ") {
        return pointer(inner) + "*";
    }
    if let Some(inner) = ty.strip_prefix("*const ") {
        return format!("const {}*", pointer(inner));
    }
    match ty {
        "c_int" => "int ".into(),
        "c_char" => "char ".into(),
        "c_void" => "void ".into(),
        other => format!("{other} "),
    }
}

/// The name of an argument, which is no word of C++.
fn argument(name: &str) -> String {
    const WORDS: [&str; 7] = [
        "new", "delete", "this", "class", "operator", "template", "private",
    ];
    let name = name.trim_start_matches('_');
    match WORDS.contains(&name) {
        true => format!("{name}_"),
        false => name.into(),
    }
}

/// Declares a function under its two names.
fn declare(text: &mut String, declaration: &str) {
    let (before, from_name) = declaration.split_at(declaration.find("MPI_").unwrap_or(0));
    let _ = match before {
        // The type of the result begins so too.
        "" => {
            let (result, function) = declaration.split_once(' ').unwrap_or_default();
            writeln!(text, "{declaration}\n{result} P{function}")
        }
        _ => writeln!(text, "{declaration}\n{before}P{from_name}"),
    };
}

/// The text of `mpi.h`.
pub fn header() -> String {
    let mut text = String::from(BEFORE);
    for (of, name, values) in HANDLES {
        let _ = writeln!(text, "typedef struct {of} *{name};");
        for (value, number) in *values {
            let _ = writeln!(text, "#define {value} (({name}){number:#x})");
        }
    }
    for (name, number) in CLASSES
        .iter()
        .chain(NUMBERS)
        .filter(|(name, _)| *name != "MPI_SUCCESS")
    {
        let _ = writeln!(text, "#define {name} ({number})");
    }
    text.push_str(BETWEEN);
    SPECIAL.iter().for_each(|it| declare(&mut text, it));
    for (name, arguments) in signatures() {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|(argument, ty)| declaration(&self::argument(argument), &sized(name, ty)))
            .collect();
        declare(&mut text, &format!("int {name}({});", arguments.join(", ")));
    }
    for [handle, to, from] in CONVERSIONS {
        declare(&mut text, &format!("MPI_Fint {to}({handle} handle);"));
        declare(&mut text, &format!("{handle} {from}(MPI_Fint number);"));
    }
    text + AFTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_arguments_are_written_as_in_c() {
        for (ty, declared) in [
            ("*const c_void", "const void *x"),
            ("c_int", "int x"),
            ("*mut MPI_Request", "MPI_Request *x"),
            ("*mut *mut *mut c_char", "char ***x"),
            ("*mut [c_int; 3]", "int x[][3]"),
            ("Option<MPI_User_function>", "MPI_User_function *x"),
        ] {
            assert_eq!(declaration("x", ty), declared);
        }
        assert!(header().contains("int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);"));
    }
}
