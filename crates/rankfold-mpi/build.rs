//! `rankfold-mpirun` loads programs that call MPI's functions in it: the linker must keep their names.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["MPI_*", "PMPI_*", "__wrap_*", "rankfold_*", "fileno"] {
        println!("cargo::rustc-link-arg-bin=rankfold-mpirun=-Wl,--export-dynamic-symbol={name}");
    }
}
