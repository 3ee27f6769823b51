//! Infos: lists of keys and values. No key but `mpi_hw_resource_type` means anything to this library.

use std::ffi::{c_char, c_int};
use std::ptr::without_provenance_mut as handle;

use super::arguments::flag;
use crate::abi::*;
use crate::error::{Out, bad, count, failure, require};
use crate::memory::Caller;
use crate::rank::Rank;
use crate::text::Text;

/// In the order in which the keys were set first, as `MPI_Info_get_nthkey` numbers them.
#[derive(Clone, Default)]
pub(crate) struct Pairs(Vec<(Text, Text)>);

impl Pairs {
    /// One key with its value.
    pub(crate) fn of(key: &str, value: String) -> Pairs {
        Pairs(vec![(key.into(), value.into())])
    }

    fn get(&self, key: &Text) -> Option<&Text> {
        self.0.iter().find(|(is, _)| is == key).map(|(_, it)| it)
    }

    fn set(&mut self, key: Text, value: Text) {
        match self.0.iter_mut().find(|(is, _)| *is == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }

    /// Whether it was there.
    fn remove(&mut self, key: &Text) -> bool {
        let before = self.0.len();
        self.0.retain(|(is, _)| is != key);
        self.0.len() < before
    }
}

fn with<R>(rank: &Rank, info: MPI_Info, f: impl FnOnce(&mut Pairs) -> Out<R>) -> Out<R> {
    match info {
        MPI_INFO_ENV => return f(&mut Pairs::default()),
        MPI_INFO_NULL => return Err(failure(MPI_ERR_INFO, "the info is MPI_INFO_NULL")),
        _ => {}
    }
    let mut infos = rank.infos.borrow_mut();
    let pairs = infos.get_mut(info.addr());
    f(pairs.map_err(|why| bad(MPI_ERR_INFO, "info", info.addr(), why))?)
}

/// Refuses an info that was freed or never made; `MPI_INFO_NULL` is none, and fine.
pub(super) fn check(rank: &Rank, info: MPI_Info) -> Out {
    match info {
        MPI_INFO_NULL => Ok(()),
        _ => with(rank, info, |_| Ok(())),
    }
}

/// What an info has under a key.
pub(super) fn get(rank: &Rank, info: MPI_Info, key: &str) -> Out<Option<Text>> {
    match info {
        MPI_INFO_NULL => Ok(None),
        _ => with(rank, info, |pairs| Ok(pairs.get(&key.into()).cloned())),
    }
}

fn key(caller: &Caller, key: *const c_char) -> Out<Text> {
    let text = caller.text(key)?;
    let fits = (1..MPI_MAX_INFO_KEY as usize).contains(&text.len());
    require(fits, MPI_ERR_INFO_KEY, || {
        format!("a key has {} characters", text.len())
    })?;
    Ok(text)
}

fn value(rank: &Rank, caller: &Caller, info: MPI_Info, at: *const c_char) -> Out<Option<Text>> {
    let key = key(caller, at)?;
    with(rank, info, |pairs| Ok(pairs.get(&key).cloned()))
}

super::calls! {
    fn MPI_Info_create(info: *mut MPI_Info) |rank, caller| {
        let made = rank.infos.borrow_mut().add(Pairs::default());
        caller.write(info, handle(made))
    }
    fn MPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) |rank, caller| {
        let pairs = with(rank, info, |pairs| Ok(pairs.clone()))?;
        let made = rank.infos.borrow_mut().add(pairs);
        caller.write(newinfo, handle(made))
    }
    fn MPI_Info_free(info: *mut MPI_Info) |rank, caller| {
        let number = caller.read(info)?.addr();
        let freed = rank.infos.borrow_mut().remove(number).map(drop);
        freed.map_err(|why| bad(MPI_ERR_INFO, "info", number, why))?;
        caller.write(info, MPI_INFO_NULL)
    }
    fn MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char) |rank, caller| {
        let (key, value) = (self::key(caller, key)?, caller.text(value)?);
        let length = value.len();
        require(length < MPI_MAX_INFO_VAL as usize, MPI_ERR_INFO_VALUE, || {
            format!("the value of {key} has {length} characters, and at most MPI_MAX_INFO_VAL - 1 are kept")
        })?;
        with(rank, info, |pairs| {
            pairs.set(key, value);
            Ok(())
        })
    }
    fn MPI_Info_delete(info: MPI_Info, key: *const c_char) |rank, caller| {
        let key = self::key(caller, key)?;
        let removed = with(rank, info, |pairs| Ok(pairs.remove(&key)))?;
        require(removed, MPI_ERR_INFO_NOKEY, || format!("the info has no key {key}"))
    }
    fn MPI_Info_get(info: MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char, there: *mut c_int) |rank, caller| {
        let found = self::value(rank, caller, info, key)?;
        if let Some(text) = &found {
            caller.write_text(value, count(valuelen, "the length")? + 1, text)?;
        }
        caller.write(there, flag(found.is_some()))
    }
    fn MPI_Info_get_string(info: MPI_Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, there: *mut c_int) |rank, caller| {
        let found = self::value(rank, caller, info, key)?;
        if let Some(text) = &found {
            let room = count(caller.read(buflen)?, "the length")?;
            if room > 0 {
                caller.write_text(value, room, text)?;
            }
            caller.write(buflen, text.len() as c_int + 1)?;
        }
        caller.write(there, flag(found.is_some()))
    }
    fn MPI_Info_get_valuelen(info: MPI_Info, key: *const c_char, valuelen: *mut c_int, there: *mut c_int) |rank, caller| {
        let found = value(rank, caller, info, key)?;
        if let Some(text) = &found {
            caller.write(valuelen, text.len() as c_int)?;
        }
        caller.write(there, flag(found.is_some()))
    }
    fn MPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) |rank, caller| {
        caller.write(nkeys, with(rank, info, |pairs| Ok(pairs.0.len()))? as c_int)
    }
    fn MPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) |rank, caller| {
        let nth = count(n, "the number of the key")?;
        let found = with(rank, info, |pairs| Ok(pairs.0.get(nth).map(|(key, _)| key.clone())))?;
        let found = found.ok_or_else(|| failure(MPI_ERR_ARG, format!("the info has no key of number {n}")))?;
        caller.write_text(key, MPI_MAX_INFO_KEY as usize, &found).map(drop)
    }
}
