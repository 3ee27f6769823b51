//! Calls whose arguments are seldom passed so: absolute addresses.

mod support;

use std::ffi::{c_int, c_void};
use std::ptr;

use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::programs;

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
