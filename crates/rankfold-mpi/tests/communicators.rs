//! Communicators, groups, topologies, attributes, infos and error handlers.

mod support;

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::{at, failure, programs, to, try_program};

fn size_and_rank(comm: MPI_Comm) -> (c_int, c_int) {
    let (mut size, mut rank) = (-1, -1);
    ok!(MPI_Comm_size(comm, &mut size));
    ok!(MPI_Comm_rank(comm, &mut rank));
    (size, rank)
}

/// The sum of what the ranks of a communicator give.
fn sum_over(comm: MPI_Comm, own: i64) -> i64 {
    let mut sum = [0i64];
    ok!(MPI_Allreduce(
        at(&[own]),
        to(&mut sum),
        1,
        MPI_INT64_T,
        MPI_SUM,
        comm
    ));
    sum[0]
}

#[test]
fn split_groups_ranks_by_color_and_orders_them_by_key() {
    programs(|me, size| {
        let mut half = MPI_COMM_NULL;
        let color = if me == 0 && size > 2 {
            MPI_UNDEFINED
        } else {
            (me % 2) as c_int
        };
        let key = -(me as c_int);
        ok!(MPI_Comm_split(MPI_COMM_WORLD, color, key, &mut half));
        if color == MPI_UNDEFINED {
            assert_eq!(half, MPI_COMM_NULL);
            return;
        }
        let first = if size > 2 { 1 } else { 0 };
        let members: Vec<usize> = (first..size)
            .rev()
            .filter(|rank| rank % 2 == me % 2)
            .collect();
        let place = members.iter().position(|rank| *rank == me).unwrap();
        assert_eq!(
            size_and_rank(half),
            (members.len() as c_int, place as c_int)
        );
        let expected = members.iter().sum::<usize>() as i64;
        assert_eq!(sum_over(half, me as i64), expected);
        ok!(MPI_Comm_free(&mut half));
        assert_eq!(half, MPI_COMM_NULL);
    });
}

/// The group of the world, that of its even ranks, the rest, and the union of these two.
fn world_even_rest_both(size: usize) -> [MPI_Group; 4] {
    let [mut world, mut even, mut rest, mut both] = [MPI_GROUP_NULL; 4];
    ok!(MPI_Comm_group(MPI_COMM_WORLD, &mut world));
    let ranks: Vec<c_int> = (0..size as c_int).step_by(2).collect();
    let number = ranks.len() as c_int;
    ok!(MPI_Group_incl(world, number, ranks.as_ptr(), &mut even));
    ok!(MPI_Group_difference(world, even, &mut rest));
    ok!(MPI_Group_union(even, rest, &mut both));
    [world, even, rest, both]
}

/// Checks this rank's place in the group of the even ranks, and the communicator of that group.
fn check_even(me: usize, size: usize, world: MPI_Group, even: MPI_Group) {
    let is_even = me.is_multiple_of(2);
    let (mut place, mut comm) = (0, MPI_COMM_NULL);
    ok!(MPI_Group_rank(even, &mut place));
    let half = (me / 2) as c_int;
    assert_eq!(place, if is_even { half } else { MPI_UNDEFINED });
    if is_even {
        ok!(MPI_Comm_create_group(MPI_COMM_WORLD, even, 7, &mut comm));
        assert_eq!(size_and_rank(comm), (size.div_ceil(2) as c_int, place));
        ok!(MPI_Barrier(comm));
        ok!(MPI_Comm_free(&mut comm));
    }
    let (here, mut there) = (me as c_int, [0]);
    let into = there.as_mut_ptr();
    ok!(MPI_Group_translate_ranks(world, 1, &here, even, into));
    assert_eq!(there, [place]);
}

#[test]
fn groups_combine_as_sets_and_make_communicators_of_their_members_alone() {
    programs(|me, size| {
        let mut groups = world_even_rest_both(size);
        let [world, even, _, both] = groups;
        let mut result = 0;
        ok!(MPI_Group_compare(world, both, &mut result));
        assert_eq!(result, if size <= 2 { MPI_IDENT } else { MPI_SIMILAR });
        check_even(me, size, world, even);
        for group in &mut groups {
            ok!(MPI_Group_free(group));
            assert_eq!(*group, MPI_GROUP_NULL);
        }
    });
}

/// A grid of all ranks that is periodic in its first dimension only, and its dimensions.
fn grid_of(size: usize) -> (MPI_Comm, [c_int; 2]) {
    let (mut dims, mut grid) = ([0, 0], MPI_COMM_NULL);
    ok!(MPI_Dims_create(size as c_int, 2, dims.as_mut_ptr()));
    assert_eq!(
        (dims[0] * dims[1], dims[0] >= dims[1]),
        (size as c_int, true)
    );
    let periods = [1, 0];
    ok!(MPI_Cart_create(
        MPI_COMM_WORLD,
        2,
        dims.as_ptr(),
        periods.as_ptr(),
        0,
        &mut grid
    ));
    (grid, dims)
}

/// The ranks before and after this one in a dimension of a grid.
fn shifted(grid: MPI_Comm, dimension: c_int) -> (c_int, c_int) {
    let (mut before, mut after) = (0, 0);
    ok!(MPI_Cart_shift(grid, dimension, 1, &mut before, &mut after));
    (before, after)
}

/// Gathers the rank of each neighbour into `got`.
fn gather_neighbours(comm: MPI_Comm, me: usize, got: &mut [i32]) {
    let own = [me as i32];
    let into = to(got);
    ok!(MPI_Neighbor_allgather(
        at(&own),
        1,
        MPI_INT,
        into,
        1,
        MPI_INT,
        comm
    ));
}

#[test]
fn a_periodic_grid_shifts_and_its_neighbours_exchange() {
    programs(|me, size| {
        let (mut grid, dims) = grid_of(size);
        let mut coords = [0; 2];
        ok!(MPI_Cart_coords(grid, me as c_int, 2, coords.as_mut_ptr()));
        assert_eq!(coords[0] * dims[1] + coords[1], me as c_int);
        let (up, down) = shifted(grid, 0);
        assert_eq!(down, (coords[0] + 1) % dims[0] * dims[1] + coords[1]);
        let (left, right) = shifted(grid, 1);
        let is_first = coords[1] == 0;
        let before = me as c_int - 1;
        assert_eq!(left, if is_first { MPI_PROC_NULL } else { before });
        let mut got = [-1i32; 4];
        gather_neighbours(grid, me, &mut got);
        let expected =
            [up, down, left, right].map(|rank| if rank == MPI_PROC_NULL { -1 } else { rank });
        assert_eq!(got, expected);
        let mut row = MPI_COMM_NULL;
        ok!(MPI_Cart_sub(grid, [0, 1].as_ptr(), &mut row));
        assert_eq!(size_and_rank(row), (dims[1], coords[1]));
        ok!(MPI_Comm_free(&mut row));
        ok!(MPI_Comm_free(&mut grid));
    });
}

/// A graph of two edges from each rank, to these ranks, which rank 0 alone gives.
fn graph_given_by_rank_0(me: usize, size: usize, to_ranks: &[c_int]) -> MPI_Comm {
    let n = if me == 0 { size as c_int } else { 0 };
    let sources: Vec<c_int> = (0..size as c_int).collect();
    let degrees = vec![2; size];
    let mut graph = MPI_COMM_NULL;
    ok!(MPI_Dist_graph_create(
        MPI_COMM_WORLD,
        n,
        sources.as_ptr(),
        degrees.as_ptr(),
        to_ranks.as_ptr(),
        MPI_UNWEIGHTED,
        MPI_INFO_NULL,
        0,
        &mut graph
    ));
    graph
}

#[test]
fn a_distributed_graph_is_the_same_from_edges_that_any_rank_gives() {
    programs(|me, size| {
        // The edges are i -> 2 i mod size and i -> i + 1 mod size.
        let to_ranks: Vec<c_int> = (0..size)
            .flat_map(|from| [2 * from % size, (from + 1) % size])
            .map(|rank| rank as c_int)
            .collect();
        let mut graph = graph_given_by_rank_0(me, size, &to_ranks);
        let (mut incoming, mut outgoing, mut weighted) = (0, 0, -1);
        ok!(MPI_Dist_graph_neighbors_count(
            graph,
            &mut incoming,
            &mut outgoing,
            &mut weighted
        ));
        let from: Vec<i32> = (0..2 * size)
            .filter(|edge| to_ranks[*edge] == me as c_int)
            .map(|edge| (edge / 2) as i32)
            .collect();
        assert_eq!((incoming as usize, outgoing, weighted), (from.len(), 2, 0));
        let mut got = vec![-1i32; from.len()];
        gather_neighbours(graph, me, &mut got);
        assert_eq!(got, from);
        ok!(MPI_Comm_free(&mut graph));
    });
}

static COPIED: AtomicUsize = AtomicUsize::new(0);
static DELETED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    value: *mut c_void,
    to: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    COPIED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the library passes places for the copy and the flag.
    unsafe {
        to.cast::<*mut c_void>().write(value.wrapping_byte_add(1));
        flag.write(1);
    }
    MPI_SUCCESS
}

unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    DELETED.fetch_add(1, Ordering::Relaxed);
    MPI_SUCCESS
}

fn attribute(comm: MPI_Comm, key: c_int) -> Option<usize> {
    let (mut value, mut there): (*mut c_void, c_int) = (ptr::null_mut(), 0);
    let into = (&raw mut value).cast();
    ok!(MPI_Comm_get_attr(comm, key, into, &mut there));
    (there != 0).then(|| value.addr())
}

#[test]
fn attributes_are_copied_by_dup_and_deleted_with_their_communicator() {
    try_program(Program::new(4), move |me, _| {
        let (mut key, mut other) = (MPI_KEYVAL_INVALID, MPI_COMM_NULL);
        ok!(MPI_Comm_create_keyval(
            Some(copy),
            Some(delete),
            &mut key,
            ptr::null_mut()
        ));
        assert_eq!(attribute(MPI_COMM_WORLD, key), None);
        ok!(MPI_Comm_set_attr(
            MPI_COMM_WORLD,
            key,
            ptr::without_provenance_mut(10 + me)
        ));
        ok!(MPI_Comm_dup(MPI_COMM_WORLD, &mut other));
        let values = (attribute(MPI_COMM_WORLD, key), attribute(other, key));
        assert_eq!(values, (Some(10 + me), Some(11 + me)));
        ok!(MPI_Comm_free(&mut other));
        ok!(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
        ok!(MPI_Comm_free_keyval(&mut key));
    })
    .unwrap();
    let called = [&COPIED, &DELETED].map(|number| number.load(Ordering::Relaxed));
    assert_eq!(called, [4, 8]);
}

#[test]
fn a_key_that_a_rank_makes_again_has_no_values_of_the_one_it_freed() {
    try_program(Program::new(3), |_, _| {
        let [mut first, mut again] = [MPI_KEYVAL_INVALID; 2];
        let (world, value) = (MPI_COMM_WORLD, ptr::without_provenance_mut(1));
        ok!(MPI_Comm_create_keyval(None, None, &mut first, value));
        ok!(MPI_Comm_set_attr(world, first, value));
        ok!(MPI_Comm_free_keyval(&mut first));
        ok!(MPI_Comm_create_keyval(None, None, &mut again, value));
        assert_eq!(attribute(world, again), None);
    })
    .unwrap();
}

#[test]
fn a_communicator_that_was_freed_is_an_error_and_no_fault() {
    let said = failure(2, |_, _| {
        let mut other = MPI_COMM_NULL;
        ok!(MPI_Comm_dup(MPI_COMM_WORLD, &mut other));
        let stale = other;
        ok!(MPI_Comm_free(&mut other));
        ok!(MPI_Barrier(stale));
    });
    assert!(
        said.contains("MPI_Barrier at ") && said.contains("was freed"),
        "{said}"
    );
}

#[test]
fn abort_ends_the_run_of_ranks_and_not_the_process() {
    let said = failure(3, |me, _| {
        if me == 2 {
            // SAFETY: no pointer is passed.
            unsafe { MPI_Abort(MPI_COMM_WORLD, 42) };
        }
        ok!(MPI_Barrier(MPI_COMM_WORLD));
    });
    assert!(
        said.contains("MPI_Abort") && said.contains("with code 42"),
        "{said}"
    );
    assert!(said.ends_with("the first culprit is rank 2"), "{said}");
}

#[test]
fn what_is_not_done_is_refused_in_one_sentence() {
    try_program(Program::new(1), |_, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        let mut other = MPI_COMM_NULL;
        // SAFETY: the arguments are not looked at.
        let class = unsafe {
            MPI_Comm_spawn(
                c"x".as_ptr(),
                MPI_ARGV_NULL,
                1,
                MPI_INFO_NULL,
                0,
                MPI_COMM_WORLD,
                &mut other,
                MPI_ERRCODES_IGNORE,
            )
        };
        assert_eq!(class, MPI_ERR_UNSUPPORTED_OPERATION);
        let (mut text, mut len) = ([0u8; MPI_MAX_ERROR_STRING as usize], 0);
        ok!(MPI_Error_string(class, text.as_mut_ptr().cast(), &mut len));
        let text = str::from_utf8(&text[..len as usize]).unwrap();
        assert!(text.contains("no further ones can be spawned"), "{text}");
    })
    .unwrap();
}

#[test]
fn infos_keep_pairs_and_names_stay_with_communicators() {
    try_program(Program::new(1), |_, _| {
        let (mut info, mut number, mut there) = (MPI_INFO_NULL, 0, 0);
        ok!(MPI_Info_create(&mut info));
        ok!(MPI_Info_set(info, c"key".as_ptr(), c"value".as_ptr()));
        ok!(MPI_Info_get_nkeys(info, &mut number));
        let mut text = [0u8; 16];
        ok!(MPI_Info_get(
            info,
            c"key".as_ptr(),
            15,
            text.as_mut_ptr().cast(),
            &mut there
        ));
        assert_eq!((number, there, &text[..6]), (1, 1, &b"value\0"[..]));
        ok!(MPI_Info_free(&mut info));
        assert_eq!(info, MPI_INFO_NULL);
        let (mut name, mut len) = ([0u8; MPI_MAX_OBJECT_NAME as usize], 0);
        ok!(MPI_Comm_get_name(
            MPI_COMM_WORLD,
            name.as_mut_ptr().cast(),
            &mut len
        ));
        assert_eq!(&name[..len as usize], b"MPI_COMM_WORLD");
    })
    .unwrap();
}

#[test]
fn programs_without_finalize_and_panics_are_reported_with_their_rank() {
    let without =
        rankfold_mpi::run(1, || ok!(MPI_Init(ptr::null_mut(), ptr::null_mut()))).unwrap_err();
    assert!(
        without.to_string().contains("without MPI_Finalize"),
        "{without}"
    );
    let panicked = failure(3, |me, _| {
        assert_ne!(me, 1, "on purpose");
        ok!(MPI_Barrier(MPI_COMM_WORLD));
    });
    assert!(
        panicked.starts_with("rank 1 panicked: ") && panicked.contains("on purpose"),
        "{panicked}"
    );
}

/// The number that rank 0 has sent to this one.
fn number_from_rank_0(on: MPI_Comm, tag: c_int) -> c_int {
    let mut number = [0];
    let none = MPI_STATUS_IGNORE;
    ok!(MPI_Recv(to(&mut number), 1, MPI_INT, 0, tag, on, none));
    number[0]
}

/// A duplicate of the world, completed by waiting or by a test.
fn started_dup(waits: bool) -> MPI_Comm {
    let (mut twin, mut request) = (MPI_COMM_NULL, MPI_REQUEST_NULL);
    let (mut there, none) = (1, MPI_STATUS_IGNORE);
    ok!(MPI_Comm_idup(MPI_COMM_WORLD, &mut twin, &mut request));
    match waits {
        true => ok!(MPI_Wait(&mut request, none)),
        false => ok!(MPI_Test(&mut request, &mut there, none)),
    }
    assert_eq!(there, 1);
    twin
}

/// Rank 0 makes two duplicates, and sends to all ranks on each and on the world.
fn sent_on_duplicates(size: usize) -> ([MPI_Comm; 2], Vec<MPI_Request>) {
    let twins = [started_dup(true), started_dup(false)];
    let all = [twins[0], twins[1], MPI_COMM_WORLD];
    let mut sends = vec![MPI_REQUEST_NULL; 3 * size];
    for (nth, send) in sends.iter_mut().enumerate() {
        let (on, rank) = (all[nth % 3], (nth / 3) as c_int);
        let number = [10 * rank + (nth % 3) as c_int];
        ok!(MPI_Isend(at(&number), 1, MPI_INT, rank, 4, on, send));
    }
    (twins, sends)
}

#[test]
fn a_started_dup_waits_for_no_rank_and_its_messages_are_kept_for_who_comes_later() {
    programs(|me, size| {
        let first = (me == 0).then(|| sent_on_duplicates(size));
        // The others need a message before they make theirs.
        let mine = 10 * me as c_int;
        assert_eq!(number_from_rank_0(MPI_COMM_WORLD, 4), mine + 2);
        let later = || ([started_dup(false), started_dup(true)], Vec::new());
        let (twins, mut sends) = first.unwrap_or_else(later);
        assert_eq!(number_from_rank_0(twins[1], 4), mine + 1);
        assert_eq!(number_from_rank_0(twins[0], 4), mine);
        let (many, none) = (sends.len() as c_int, MPI_STATUSES_IGNORE);
        ok!(MPI_Waitall(many, sends.as_mut_ptr(), none));
        for mut twin in twins {
            assert_eq!(sum_over(twin, me as i64) as usize, size * (size - 1) / 2);
            ok!(MPI_Comm_free(&mut twin));
        }
    });
}

#[test]
fn a_rank_that_never_makes_its_part_of_a_started_dup_is_waited_for_in_vain() {
    let said = failure(3, |me, _| {
        if me < 2 {
            let (mut twin, mut request) = (MPI_COMM_NULL, MPI_REQUEST_NULL);
            ok!(MPI_Comm_idup(MPI_COMM_WORLD, &mut twin, &mut request));
            ok!(MPI_Wait(&mut request, MPI_STATUS_IGNORE));
            ok!(MPI_Barrier(twin));
        }
    });
    assert!(said.contains("rank 0: MPI_Barrier"), "{said}");
    assert!(said.contains("rank 2 is gone: it returned"), "{said}");
}
