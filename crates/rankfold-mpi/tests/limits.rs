//! Arguments at the limits: sizes beyond the address space, ranges without ranks, handles that were freed, requests that
//! are freed early, and calls on threads that are no ranks.

mod support;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::{at, to, try_program};

/// What a call returns that may fail. The test passes pointers to what the call reads and writes.
macro_rules! code {
    ($($call:tt)*) => {{
        #[allow(clippy::macro_metavars_in_unsafe)]
        // SAFETY: the pointers are to places of the test; a call that fails accesses no buffer.
        unsafe { $($call)* }
    }};
}

/// Runs the body on ranks whose errors are returned.
fn with_errors(ranks: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let returned = move |me, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        body(me);
    };
    try_program(Program::new(ranks), returned).unwrap();
}

fn contiguous(number: c_int, of: MPI_Datatype) -> MPI_Datatype {
    let mut made = MPI_DATATYPE_NULL;
    ok!(MPI_Type_contiguous(number, of, &mut made));
    ok!(MPI_Type_commit(&mut made));
    made
}

/// A datatype of about 2^62 bytes.
fn large() -> MPI_Datatype {
    contiguous(c_int::MAX, contiguous(c_int::MAX, MPI_BYTE))
}

/// What the makers of vectors and arrays return where these are beyond the address space.
fn vectors_too_long(large: MPI_Datatype, made: &mut MPI_Datatype) -> [c_int; 7] {
    let (most, far) = (c_int::MAX, isize::MAX - 1);
    [
        code!(MPI_Type_contiguous(4, large, made)),
        code!(MPI_Type_vector(2, 2, 2, large, made)),
        code!(MPI_Type_vector(3, 1, most, large, made)),
        code!(MPI_Type_create_hvector(3, 1, far, MPI_INT, made)),
        code!(MPI_Type_create_hvector(2, 1, far, MPI_INT, made)),
        code!(MPI_Type_create_resized(large, far, 2, made)),
        code!(MPI_Type_create_subarray(
            3,
            [most; 3].as_ptr(),
            [1; 3].as_ptr(),
            [0; 3].as_ptr(),
            MPI_ORDER_C,
            MPI_INT,
            made
        )),
    ]
}

/// What the makers of structs and of indexed datatypes return where these are beyond the address space.
fn structs_too_long(large: MPI_Datatype, made: &mut MPI_Datatype) -> [c_int; 3] {
    let far = isize::MAX - 1;
    [
        code!(MPI_Type_create_struct(
            2,
            [1, 1].as_ptr(),
            [-far, far].as_ptr(),
            [MPI_INT; 2].as_ptr(),
            made
        )),
        code!(MPI_Type_create_struct(
            1,
            [4].as_ptr(),
            [0].as_ptr(),
            [large].as_ptr(),
            made
        )),
        code!(MPI_Type_create_hindexed(
            1,
            [1].as_ptr(),
            [far].as_ptr(),
            MPI_INT,
            made
        )),
    ]
}

#[test]
fn a_datatype_beyond_the_address_space_is_an_error() {
    with_errors(1, |_| {
        let (large, mut made) = (large(), MPI_DATATYPE_NULL);
        assert_eq!(vectors_too_long(large, &mut made), [MPI_ERR_ARG; 7]);
        assert_eq!(structs_too_long(large, &mut made), [MPI_ERR_ARG; 3]);
        assert_eq!(made, MPI_DATATYPE_NULL);
        let mut size: MPI_Count = 0;
        ok!(MPI_Type_size_x(large, &mut size));
        assert_eq!(size, i64::from(c_int::MAX) * i64::from(c_int::MAX));
    });
}

#[test]
fn a_buffer_beyond_the_address_space_is_an_error() {
    with_errors(1, |_| {
        let large = large();
        let (mut a, mut b) = ([0u8; 8], [0u8; 8]);
        let (world, from, into) = (MPI_COMM_WORLD, at(&a), to(&mut b));
        let (none, both) = (ptr::null_mut(), to(&mut a));
        for wrong in [
            code!(MPI_Send(from, 4, large, 0, 0, world)),
            code!(MPI_Recv(into, 4, large, 0, 0, world, none)),
            code!(MPI_Bcast(into, 4, large, 0, world)),
            code!(MPI_Alltoall(from, 4, large, into, 4, large, world)),
            code!(MPI_Allgather(from, 4, large, into, 4, large, world)),
            code!(MPI_Sendrecv_replace(
                both, 4, large, 0, 0, 0, 0, world, none
            )),
        ] {
            assert_eq!(wrong, MPI_ERR_COUNT);
        }
        assert_eq!(code!(MPI_Send(from, 2, large, 0, 0, world)), MPI_ERR_NO_MEM);
    });
}

#[test]
fn a_receive_costs_what_its_message_needs() {
    try_program(Program::new(2), |me, _| {
        if me == 0 {
            ok!(MPI_Send(at(&[7i32]), 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
            return;
        }
        let mut room: Vec<u8> = Vec::with_capacity(1 << 32);
        let (count, mut status) = (1 << 30, support::no_status());
        let into = room.as_mut_ptr().cast();
        ok!(MPI_Recv(
            into,
            count,
            MPI_INT,
            0,
            0,
            MPI_COMM_WORLD,
            &mut status
        ));
        let mut came = -1;
        ok!(MPI_Get_count(&status, MPI_INT, &mut came));
        assert_eq!(came, 1);
    })
    .unwrap();
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = memory.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let most = most.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(most.is_none_or(|kilobytes| kilobytes < 1 << 20), "{most:?}");
}

#[test]
fn a_range_without_ranks_is_an_error() {
    with_errors(3, |_| {
        let (mut all, mut made) = (MPI_GROUP_NULL, MPI_GROUP_NULL);
        ok!(MPI_Comm_group(MPI_COMM_WORLD, &mut all));
        for range in [
            [0, c_int::MIN, -1],
            [0, c_int::MAX, 1],
            [1, 0, 2],
            [0, 1, -2],
            [0, 0, 0],
        ] {
            let mut range = [range];
            let wrong = code!(MPI_Group_range_incl(all, 1, range.as_mut_ptr(), &mut made));
            assert_eq!(wrong, MPI_ERR_ARG, "{range:?}");
        }
        let mut back = [[2, 0, -2]];
        ok!(MPI_Group_range_incl(all, 1, back.as_mut_ptr(), &mut made));
        let mut size = -1;
        ok!(MPI_Group_size(made, &mut size));
        assert_eq!(size, 2);
        ok!(MPI_Group_free(&mut made));
        ok!(MPI_Group_free(&mut all));
    });
}

#[test]
fn a_receive_that_was_freed_still_fills_its_buffer() {
    support::programs(|me, size| {
        let (right, left) = ((me + 1) % size, (me + size - 1) % size);
        let (right, left) = (right as c_int, left as c_int);
        let (mut got, mut coming) = ([-1i32], MPI_REQUEST_NULL);
        let into = to(&mut got);
        ok!(MPI_Irecv(
            into,
            1,
            MPI_INT,
            left,
            5,
            MPI_COMM_WORLD,
            &mut coming
        ));
        ok!(MPI_Request_free(&mut coming));
        assert_eq!(coming, MPI_REQUEST_NULL);
        ok!(MPI_Send(at(&[right]), 1, MPI_INT, right, 5, MPI_COMM_WORLD));
        ok!(MPI_Barrier(MPI_COMM_WORLD));
        assert_eq!(got, [me as i32]);
    });
}

/// The memory of the process in kilobytes, where the system tells it.
fn resident() -> u64 {
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let now = memory.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let now = now.and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok());
    now.unwrap_or(0)
}

#[test]
fn sends_that_were_freed_and_are_over_take_no_memory() {
    try_program(Program::new(1), |_, _| {
        let send = || {
            let (mut sent, mut got) = (MPI_REQUEST_NULL, [0]);
            let (from, into) = (at(&[7]), to(&mut got));
            let (world, ignored) = (MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            ok!(MPI_Isend(from, 1, MPI_INT, 0, 0, world, &mut sent));
            ok!(MPI_Request_free(&mut sent));
            ok!(MPI_Recv(into, 1, MPI_INT, 0, 0, world, ignored));
        };
        (0..1000).for_each(|_| send());
        let before = resident();
        (0..300_000).for_each(|_| send());
        let more = resident().saturating_sub(before);
        assert!(more < 20_000, "{more} kB");
    })
    .unwrap();
}

#[test]
fn infos_and_keys_that_were_freed_are_errors() {
    with_errors(2, |_| {
        let mut info = MPI_INFO_NULL;
        ok!(MPI_Info_create(&mut info));
        let freed = info;
        ok!(MPI_Info_free(&mut info));
        let (mut comm, mut memory) = (MPI_COMM_NULL, ptr::null_mut::<c_void>());
        for info in [freed, ptr::without_provenance_mut(0x1234_5678)] {
            for wrong in [
                code!(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &mut comm)),
                code!(MPI_Comm_set_info(MPI_COMM_WORLD, info)),
                code!(MPI_Alloc_mem(8, info, (&raw mut memory).cast())),
            ] {
                assert_eq!(wrong, MPI_ERR_INFO);
            }
        }
        ok!(MPI_Comm_set_info(MPI_COMM_WORLD, MPI_INFO_NULL));
        let mut key = MPI_KEYVAL_INVALID;
        ok!(MPI_Comm_create_keyval(
            None,
            None,
            &mut key,
            ptr::null_mut()
        ));
        let mut freed = key;
        ok!(MPI_Comm_free_keyval(&mut key));
        let set = code!(MPI_Comm_set_attr(MPI_COMM_WORLD, freed, ptr::null_mut()));
        assert_eq!(set, MPI_ERR_KEYVAL);
        assert_eq!(code!(MPI_Comm_free_keyval(&mut freed)), MPI_ERR_KEYVAL);
    });
}

#[test]
fn an_automatic_buffer_holds_any_message() {
    with_errors(1, |_| {
        let (mut sent, mut received) = ([7i32; 5000], [0i32; 5000]);
        let (mut place, mut size) = (ptr::null_mut::<c_void>(), -1);
        let (from, into, world) = (to(&mut sent), to(&mut received), MPI_COMM_WORLD);
        ok!(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
        (0..3).for_each(|_| ok!(MPI_Bsend(from, 5000, MPI_INT, 0, 0, world)));
        for _ in 0..3 {
            let ignored = MPI_STATUS_IGNORE;
            ok!(MPI_Recv(into, 5000, MPI_INT, 0, 0, world, ignored));
        }
        assert_eq!(received, [7; 5000]);
        ok!(MPI_Buffer_detach((&raw mut place).cast(), &mut size));
        assert_eq!((place, size), (MPI_BUFFER_AUTOMATIC, 0));
    });
}

/// A part of the world by a type and, for rank 1, by none; and the ranks that are in it.
fn part(me: usize, kind: c_int, resource: &CStr) -> Option<c_int> {
    let (mut info, mut made, mut size) = (MPI_INFO_NULL, MPI_COMM_NULL, 0);
    ok!(MPI_Info_create(&mut info));
    let key = c"mpi_hw_resource_type";
    ok!(MPI_Info_set(info, key.as_ptr(), resource.as_ptr()));
    let kind = if me == 1 { MPI_UNDEFINED } else { kind };
    ok!(MPI_Comm_split_type(
        MPI_COMM_WORLD,
        kind,
        0,
        info,
        &mut made
    ));
    ok!(MPI_Info_free(&mut info));
    if made == MPI_COMM_NULL {
        return None;
    }
    ok!(MPI_Comm_size(made, &mut size));
    ok!(MPI_Comm_free(&mut made));
    Some(size)
}

#[test]
fn no_resource_splits_the_ranks_but_the_memory_that_all_share() {
    with_errors(4, |me| {
        let shared = c"mpi_shared_memory";
        let all = (me != 1).then_some(3);
        assert_eq!(part(me, MPI_COMM_TYPE_SHARED, c"none"), all);
        for guided in [MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED] {
            assert_eq!(part(me, guided, shared), all);
            assert_eq!(part(me, guided, c"hwloc://L3Cache"), None);
        }
        assert_eq!(part(me, MPI_COMM_TYPE_HW_UNGUIDED, shared), None);
        let mut made = MPI_COMM_NULL;
        let (world, info) = (MPI_COMM_WORLD, MPI_INFO_NULL);
        let wrong = code!(MPI_Comm_split_type(world, 7, 0, info, &mut made));
        assert_eq!(wrong, MPI_ERR_ARG);
    });
}

#[test]
fn a_communicator_of_no_ranks_is_none_and_made_by_one_rank_alone() {
    with_errors(2, |me| {
        let (mut made, tag, none) = (MPI_COMM_WORLD, c"nobody".as_ptr(), MPI_GROUP_EMPTY);
        if me == 1 {
            let (info, on_error) = (MPI_INFO_NULL, MPI_ERRORS_RETURN);
            ok!(MPI_Comm_create_from_group(
                none, tag, info, on_error, &mut made
            ));
            assert_eq!(made, MPI_COMM_NULL);
        }
    });
}

#[test]
fn null_handles_have_names() {
    with_errors(1, |_| {
        let (mut name, mut len) = ([0 as c_char; MPI_MAX_OBJECT_NAME as usize], 0);
        let mut named = |get: &mut dyn FnMut(*mut c_char, *mut c_int)| {
            get(name.as_mut_ptr(), &mut len);
            let bytes = name[..len as usize].iter().map(|it| it.cast_unsigned());
            String::from_utf8(bytes.collect()).unwrap()
        };
        let comm = named(&mut |to, len| ok!(MPI_Comm_get_name(MPI_COMM_NULL, to, len)));
        let of_type = named(&mut |to, len| ok!(MPI_Type_get_name(MPI_DATATYPE_NULL, to, len)));
        let win = named(&mut |to, len| ok!(MPI_Win_get_name(MPI_WIN_NULL, to, len)));
        assert_eq!(comm, "MPI_COMM_NULL");
        assert_eq!(of_type, "MPI_DATATYPE_NULL");
        assert_eq!(win, "MPI_WIN_NULL");
    });
}

#[test]
fn any_thread_may_ask_whether_mpi_is_initialised() {
    try_program(Program::new(2), |_, _| {
        let asked = std::thread::spawn(|| {
            let mut there = -1;
            ok!(MPI_Initialized(&mut there));
            there
        });
        assert_eq!(asked.join().unwrap(), 1);
    })
    .unwrap();
}
