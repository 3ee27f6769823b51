//! Calls whose arguments are seldom passed so: absolute addresses, sizes of datatypes, halves of a combined call.

mod support;

use std::ffi::{c_int, c_void};
use std::ptr;

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::{at, programs, to};

/// A datatype of one integer at its address.
fn absolute(of: &mut c_int) -> MPI_Datatype {
    let (mut place, mut made) = (0, MPI_DATATYPE_NULL);
    let first: *const c_void = ptr::from_mut(of).cast_const().cast();
    ok!(MPI_Get_address(first, &mut place));
    ok!(MPI_Type_create_hindexed(1, &1, &place, MPI_INT, &mut made));
    ok!(MPI_Type_commit(&mut made));
    made
}

#[test]
fn many_elements_of_a_derived_datatype_may_begin_at_the_bottom() {
    programs(|_, _| {
        let (mut number, many) = (5, 1 << 33);
        let mut made = absolute(&mut number);
        let (bottom, comm) = (ptr::null(), MPI_COMM_WORLD);
        ok!(MPI_Send_c(bottom, many, made, MPI_PROC_NULL, 0, comm));
        ok!(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        for (at, of) in [(bottom, MPI_INT), (MPI_IN_PLACE.cast_const(), made)] {
            // SAFETY: nothing is read for no rank.
            let code = unsafe { MPI_Send_c(at, many, of, MPI_PROC_NULL, 0, comm) };
            assert_eq!(code, MPI_ERR_BUFFER);
        }
        ok!(MPI_Type_free(&mut made));
    });
}

/// The addresses of some integers.
fn addresses(of: *mut c_int, number: usize) -> Vec<MPI_Aint> {
    let address = |nth| {
        let (mut place, it) = (0, of.wrapping_add(nth).cast_const());
        ok!(MPI_Get_address(it.cast(), &mut place));
        place
    };
    (0..number).map(address).collect()
}

#[test]
fn an_all_to_all_of_several_datatypes_takes_addresses_but_no_place_for_both() {
    programs(|me, size| {
        let (mut sent, mut got): (Vec<c_int>, _) = ((0..size as c_int).collect(), vec![-1; size]);
        let (from, into) = (
            addresses(sent.as_mut_ptr(), size),
            addresses(got.as_mut_ptr(), size),
        );
        let (ones, types): (Vec<MPI_Count>, _) = (vec![1; size], vec![MPI_INT; size]);
        let exchange = |to: *mut c_void| {
            let (ones, types) = (ones.as_ptr(), types.as_ptr());
            let (from, into, bottom) = (from.as_ptr(), into.as_ptr(), ptr::null());
            // SAFETY: the addresses are those of elements of the test.
            unsafe {
                MPI_Alltoallw_c(
                    bottom,
                    ones,
                    from,
                    types,
                    to,
                    ones,
                    into,
                    types,
                    MPI_COMM_WORLD,
                )
            }
        };
        assert_eq!(exchange(ptr::null_mut()), MPI_SUCCESS);
        assert_eq!(got, vec![me as c_int; size]);
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        assert_eq!(exchange(MPI_IN_PLACE), MPI_ERR_BUFFER);
    });
}

#[test]
fn datatypes_are_found_by_class_and_size() {
    programs(|_, _| {
        for (class, size, of) in [
            (MPI_TYPECLASS_REAL, 16, MPI_LONG_DOUBLE),
            (MPI_TYPECLASS_COMPLEX, 16, MPI_C_DOUBLE_COMPLEX),
            (MPI_TYPECLASS_COMPLEX, 32, MPI_C_LONG_DOUBLE_COMPLEX),
        ] {
            let (mut found, mut bytes) = (MPI_DATATYPE_NULL, 0);
            ok!(MPI_Type_match_size(class, size, &mut found));
            ok!(MPI_Type_size(found, &mut bytes));
            assert_eq!((found, bytes), (of, size));
        }
    });
}

#[test]
fn the_send_of_a_combined_call_that_receives_nothing_fails_on_its_communicator() {
    // Rank 1 ends without receiving: a send without a buffer fails.
    let result = Program::new(2).zero_buffering().run(|| {
        let (mut me, mut other, mut request) = (-1, MPI_COMM_NULL, MPI_REQUEST_NULL);
        ok!(MPI_Init(ptr::null_mut(), ptr::null_mut()));
        ok!(MPI_Comm_rank(MPI_COMM_WORLD, &mut me));
        ok!(MPI_Comm_dup(MPI_COMM_WORLD, &mut other));
        ok!(MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN));
        if me == 0 {
            let (sent, mut got) = ([1], [0]);
            #[rustfmt::skip]
            ok!(MPI_Isendrecv(
                at(&sent), 1, MPI_INT, 1, 0, to(&mut got), 1, MPI_INT, MPI_PROC_NULL, 0, other, &mut request,
            ));
            // SAFETY: the request is a place of the test.
            let code = unsafe { MPI_Wait(&mut request, MPI_STATUS_IGNORE) };
            assert_eq!(code, MPI_ERR_PROC_ABORTED);
        }
        ok!(MPI_Finalize());
    });
    result.unwrap();
}
