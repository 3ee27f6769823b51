//! Datatypes against a plain list of their bytes, and what they tell of themselves.

mod support;

use std::ffi::c_int;

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::{at, failure, to, try_program};

/// Numbers that are random enough for tests.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A datatype and its typemap as the standard defines it: where its bytes are, in order, and its bounds.
struct Model {
    datatype: MPI_Datatype,
    bytes: Vec<isize>,
    lb: isize,
    ub: isize,
}

impl Model {
    fn int() -> Model {
        Model {
            datatype: MPI_INT,
            bytes: (0..4).collect(),
            lb: 0,
            ub: 4,
        }
    }

    /// Blocks of elements at places in bytes.
    fn of(&self, datatype: MPI_Datatype, blocks: &[(isize, c_int)]) -> Model {
        let extent = self.ub - self.lb;
        let starts: Vec<isize> = blocks
            .iter()
            .flat_map(|(place, len)| (0..*len as isize).map(move |nth| place + nth * extent))
            .collect();
        let bytes = starts
            .iter()
            .flat_map(|start| self.bytes.iter().map(move |byte| start + byte))
            .collect();
        let lb = starts
            .iter()
            .map(|start| start + self.lb)
            .min()
            .unwrap_or(0);
        let ub = starts
            .iter()
            .map(|start| start + self.ub)
            .max()
            .unwrap_or(0);
        Model {
            datatype,
            bytes,
            lb,
            ub,
        }
    }

    fn contiguous(&self, count: c_int) -> Model {
        let mut made = MPI_DATATYPE_NULL;
        ok!(MPI_Type_contiguous(count, self.datatype, &mut made));
        self.of(made, &[(0, count)])
    }

    fn vector(&self, count: c_int, len: c_int, stride: c_int) -> Model {
        let mut made = MPI_DATATYPE_NULL;
        ok!(MPI_Type_vector(
            count,
            len,
            stride,
            self.datatype,
            &mut made
        ));
        let step = stride as isize * (self.ub - self.lb);
        self.of(
            made,
            &(0..count as isize)
                .map(|nth| (nth * step, len))
                .collect::<Vec<_>>(),
        )
    }

    fn indexed(&self, lens: &[c_int], places: &[c_int]) -> Model {
        let mut made = MPI_DATATYPE_NULL;
        let count = lens.len() as c_int;
        ok!(MPI_Type_indexed(
            count,
            lens.as_ptr(),
            places.as_ptr(),
            self.datatype,
            &mut made
        ));
        let extent = self.ub - self.lb;
        let blocks: Vec<_> = places
            .iter()
            .zip(lens)
            .map(|(place, len)| (*place as isize * extent, *len))
            .collect();
        self.of(made, &blocks)
    }

    fn resized(&self, lb: isize, extent: isize) -> Model {
        let mut made = MPI_DATATYPE_NULL;
        ok!(MPI_Type_create_resized(
            self.datatype,
            lb,
            extent,
            &mut made
        ));
        Model {
            datatype: made,
            bytes: self.bytes.clone(),
            lb,
            ub: lb + extent,
        }
    }

    fn random(dice: &mut Dice) -> Model {
        let mut model = Model::int();
        for _ in 0..1 + dice.roll(3) {
            let mut small = |from: c_int| from + dice.roll(3) as c_int;
            model = match small(0) {
                0 => model.contiguous(small(1)),
                1 => {
                    let len = small(1);
                    model.vector(small(1), len, len + small(0))
                }
                _ if small(0) == 0 => {
                    let extent = model.ub - model.lb;
                    model.resized(model.lb, extent + 4 * small(0) as isize)
                }
                _ => {
                    let (first, second) = (small(0), small(1));
                    model.indexed(&[first, second], &[first + small(0) + 4, 0])
                }
            };
        }
        model
    }
}

#[test]
fn random_datatypes_pack_the_bytes_of_their_typemap_and_unpack_them_again() {
    for seed in 0..300 {
        let run = move |_, _| {
            let model = Model::random(&mut Dice(seed));
            let mut datatype = model.datatype;
            if datatype == MPI_INT {
                return;
            }
            ok!(MPI_Type_commit(&mut datatype));
            check_told(&model, seed);
            check_packed(&model, seed);
            ok!(MPI_Type_free(&mut datatype));
        };
        try_program(Program::new(1), run).unwrap();
    }
}

fn check_told(model: &Model, seed: u64) {
    let (mut size, mut lb, mut extent, mut first, mut true_extent) = (0, 0, 0, 0, 0);
    ok!(MPI_Type_size(model.datatype, &mut size));
    ok!(MPI_Type_get_extent(model.datatype, &mut lb, &mut extent));
    ok!(MPI_Type_get_true_extent(
        model.datatype,
        &mut first,
        &mut true_extent
    ));
    assert_eq!(size as usize, model.bytes.len(), "seed {seed}");
    assert_eq!((lb, lb + extent), (model.lb, model.ub), "seed {seed}");
    let low = model.bytes.iter().min().copied().unwrap_or(0);
    let high = model.bytes.iter().max().map_or(0, |last| last + 1);
    assert_eq!((first, first + true_extent), (low, high), "seed {seed}");
}

/// Packs elements of a datatype into room for `len` numbers; returns these, and the position after them.
fn packed<T: Copy + Default>(
    data: &[T],
    count: c_int,
    datatype: MPI_Datatype,
    len: usize,
) -> (Vec<T>, c_int) {
    let (mut packed, mut position) = (vec![T::default(); len], 0);
    let bytes = size_of_val(&packed[..]) as c_int;
    let into = to(&mut packed);
    ok!(MPI_Pack(
        at(data),
        count,
        datatype,
        into,
        bytes,
        &mut position,
        MPI_COMM_WORLD
    ));
    (packed, position)
}

fn check_packed(model: &Model, seed: u64) {
    const COUNT: usize = 3;
    let extent = model.ub - model.lb;
    let places: Vec<usize> = (0..COUNT as isize)
        .flat_map(|nth| model.bytes.iter().map(move |byte| byte + nth * extent))
        .map(|place| place as usize)
        .collect();
    let room = places.iter().max().map_or(0, |last| last + 1);
    let data: Vec<u8> = (0..room).map(|at| (at % 251) as u8).collect();
    let bytes = places.len() as c_int;
    let (packed, position) = packed(&data, 3, model.datatype, places.len());
    assert_eq!(position, bytes, "seed {seed}");
    let expected: Vec<u8> = places.iter().map(|at| data[*at]).collect();
    assert_eq!(packed, expected, "seed {seed}");
    let (mut back, mut position) = (vec![255u8; room], 0);
    ok!(MPI_Unpack(
        at(&packed),
        bytes,
        &mut position,
        to(&mut back),
        3,
        model.datatype,
        MPI_COMM_WORLD
    ));
    let expected: Vec<u8> = (0..room)
        .map(|at| if places.contains(&at) { data[at] } else { 255 })
        .collect();
    assert_eq!(back, expected, "seed {seed}");
}

/// Where the elements of the part of 2 x 3 x 4 elements at (1, 2, 0) are, by the strides of the whole array.
fn places_of_part(strides: [i32; 3]) -> Vec<i32> {
    let mut places = Vec::new();
    for a in 1..3 {
        for b in 2..5 {
            places.extend((0..4).map(|c| a * strides[0] + b * strides[1] + c * strides[2]));
        }
    }
    places.sort_unstable();
    places
}

#[test]
fn parts_of_arrays_are_where_a_loop_finds_them() {
    try_program(Program::new(1), |_, _| {
        let array: Vec<i32> = (0..4 * 5 * 6).collect();
        for (order, strides) in [(MPI_ORDER_C, [30, 6, 1]), (MPI_ORDER_FORTRAN, [1, 4, 20])] {
            let mut part = MPI_DATATYPE_NULL;
            let (sizes, lens, starts) = ([4, 5, 6], [2, 3, 4], [1, 2, 0]);
            ok!(MPI_Type_create_subarray(
                3,
                sizes.as_ptr(),
                lens.as_ptr(),
                starts.as_ptr(),
                order,
                MPI_INT,
                &mut part
            ));
            ok!(MPI_Type_commit(&mut part));
            let (packed, _) = packed(&array, 1, part, 24);
            assert_eq!(packed, places_of_part(strides));
            ok!(MPI_Type_free(&mut part));
        }
    })
    .unwrap();
}

/// The part that a rank of a grid of 2 x 3 has of an array of 7 x 9 integers, cut in blocks and cyclically.
fn part_of(rank: c_int, order: c_int, arguments: [c_int; 2]) -> MPI_Datatype {
    let (sizes, grid) = ([7, 9], [2, 3]);
    let kinds = [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC];
    let mut part = MPI_DATATYPE_NULL;
    ok!(MPI_Type_create_darray(
        6,
        rank,
        2,
        sizes.as_ptr(),
        kinds.as_ptr(),
        arguments.as_ptr(),
        grid.as_ptr(),
        order,
        MPI_INT,
        &mut part
    ));
    ok!(MPI_Type_commit(&mut part));
    part
}

#[test]
fn the_parts_of_a_distributed_array_are_all_of_it_once() {
    try_program(Program::new(1), |_, _| {
        let array: Vec<i32> = (0..63).collect();
        for (order, arguments) in [
            (MPI_ORDER_C, [MPI_DISTRIBUTE_DFLT_DARG, 2]),
            (MPI_ORDER_FORTRAN, [5, 1]),
        ] {
            let mut seen: Vec<i32> = Vec::new();
            for rank in 0..6 {
                let (mut part, mut size) = (part_of(rank, order, arguments), 0);
                ok!(MPI_Type_size(part, &mut size));
                seen.extend(packed(&array, 1, part, size as usize / 4).0);
                ok!(MPI_Type_free(&mut part));
            }
            seen.sort_unstable();
            assert_eq!(seen, array);
        }
    })
    .unwrap();
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Particle {
    id: u8,
    place: [f64; 3],
    charge: i32,
}

/// The datatype of a particle.
fn particle() -> MPI_Datatype {
    let mut datatype = MPI_DATATYPE_NULL;
    let lens = [1, 3, 1];
    let places = [
        std::mem::offset_of!(Particle, id),
        std::mem::offset_of!(Particle, place),
        std::mem::offset_of!(Particle, charge),
    ];
    let places = places.map(|at| at as MPI_Aint);
    let types = [MPI_UINT8_T, MPI_DOUBLE, MPI_INT32_T];
    ok!(MPI_Type_create_struct(
        3,
        lens.as_ptr(),
        places.as_ptr(),
        types.as_ptr(),
        &mut datatype
    ));
    ok!(MPI_Type_commit(&mut datatype));
    datatype
}

#[test]
fn an_array_of_structs_arrives_and_its_padding_is_not_touched() {
    try_program(Program::new(2), |me, _| {
        let (mut datatype, mut lb, mut extent) = (particle(), 0, 0);
        ok!(MPI_Type_get_extent(datatype, &mut lb, &mut extent));
        assert_eq!((lb, extent), (0, size_of::<Particle>() as isize));
        let sent = [1, 2].map(|id| Particle {
            id,
            place: [0.5, 1.5, f64::from(id)],
            charge: -1,
        });
        if me == 0 {
            ok!(MPI_Send(at(&sent), 2, datatype, 1, 0, MPI_COMM_WORLD));
        } else {
            let mut got = [Particle {
                id: 0,
                place: [0.0; 3],
                charge: 0,
            }; 2];
            ok!(MPI_Recv(
                to(&mut got),
                2,
                datatype,
                0,
                0,
                MPI_COMM_WORLD,
                MPI_STATUS_IGNORE
            ));
            assert_eq!(got, sent);
        }
        ok!(MPI_Type_free(&mut datatype));
    })
    .unwrap();
}

#[test]
fn the_contents_of_a_datatype_make_it_again() {
    try_program(Program::new(1), |_, _| {
        let mut made = MPI_DATATYPE_NULL;
        ok!(MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &mut made));
        let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
        ok!(MPI_Type_get_envelope(
            made,
            &mut integers,
            &mut addresses,
            &mut types,
            &mut combiner
        ));
        assert_eq!(
            (integers, addresses, types, combiner),
            (3, 0, 1, MPI_COMBINER_VECTOR)
        );
        let (mut numbers, mut of) = ([0; 3], [MPI_DATATYPE_NULL]);
        ok!(MPI_Type_get_contents(
            made,
            3,
            0,
            1,
            numbers.as_mut_ptr(),
            std::ptr::null_mut(),
            of.as_mut_ptr()
        ));
        assert_eq!((numbers, of), ([3, 2, 5], [MPI_DOUBLE]));
        ok!(MPI_Type_free(&mut made));
    })
    .unwrap();
}

#[test]
fn a_datatype_that_is_not_committed_or_was_freed_is_refused() {
    let early = failure(1, |_, _| {
        let mut made = MPI_DATATYPE_NULL;
        ok!(MPI_Type_contiguous(2, MPI_INT, &mut made));
        ok!(MPI_Send(at(&[0i32; 2]), 1, made, 0, 0, MPI_COMM_WORLD));
    });
    assert!(early.contains("used before MPI_Type_commit"), "{early}");
    let late = failure(1, |_, _| {
        let mut made = MPI_DATATYPE_NULL;
        ok!(MPI_Type_contiguous(2, MPI_INT, &mut made));
        ok!(MPI_Type_commit(&mut made));
        let stale = made;
        ok!(MPI_Type_free(&mut made));
        ok!(MPI_Send(at(&[0i32; 2]), 1, stale, 0, 0, MPI_COMM_WORLD));
    });
    assert!(
        late.contains("MPI_ERR_TYPE") && late.contains("was freed"),
        "{late}"
    );
}

/// A struct of two datatypes at two places, and its lower bound and extent.
fn bounds_of_pair(types: [MPI_Datatype; 2], places: [MPI_Aint; 2]) -> (MPI_Aint, MPI_Aint) {
    let (mut made, lens) = (MPI_DATATYPE_NULL, [1, 1]);
    let (mut lb, mut extent) = (0, 0);
    ok!(MPI_Type_create_struct(
        2,
        lens.as_ptr(),
        places.as_ptr(),
        types.as_ptr(),
        &mut made
    ));
    ok!(MPI_Type_get_extent(made, &mut lb, &mut extent));
    ok!(MPI_Type_free(&mut made));
    (lb, extent)
}

/// As the standard defines them by its markers; Open MPI agrees, and MPICH 4 does not.
#[test]
fn bounds_that_were_set_are_those_of_a_struct_whatever_else_is_in_it() {
    try_program(Program::new(1), |_, _| {
        let mut wide = MPI_DATATYPE_NULL;
        ok!(MPI_Type_create_resized(MPI_INT, 0, 8, &mut wide));
        assert_eq!(bounds_of_pair([wide, MPI_DOUBLE], [0, 8]), (0, 8));
        assert_eq!(bounds_of_pair([MPI_DOUBLE, wide], [0, 16]), (16, 8));
        assert_eq!(bounds_of_pair([wide, wide], [0, 24]), (0, 32));
        assert_eq!(bounds_of_pair([MPI_INT, MPI_DOUBLE], [0, 8]), (0, 16));
        ok!(MPI_Type_free(&mut wide));
    })
    .unwrap();
}

#[test]
fn datatypes_of_fortran_are_those_of_c_with_the_same_numbers() {
    try_program(Program::new(1), |_, _| {
        for (fortran, c) in [
            (MPI_INTEGER, MPI_INT),
            (MPI_DOUBLE_PRECISION, MPI_DOUBLE),
            (MPI_REAL4, MPI_FLOAT),
            (MPI_INTEGER8, MPI_INT64_T),
            (MPI_COMPLEX16, MPI_C_DOUBLE_COMPLEX),
            (MPI_CXX_BOOL, MPI_C_BOOL),
        ] {
            let (mut size, mut other) = (0, 0);
            ok!(MPI_Type_size(fortran, &mut size));
            ok!(MPI_Type_size(c, &mut other));
            assert_eq!(size, other);
            let (sent, mut got) = ([1u8; 16], [0u8; 16]);
            let (to_me, none) = (MPI_COMM_SELF, MPI_STATUS_IGNORE);
            let (sent, got) = (at(&sent), to(&mut got));
            ok!(MPI_Sendrecv(
                sent, 1, c, 0, 0, got, 1, fortran, 0, 0, to_me, none
            ));
        }
    })
    .unwrap();
}
