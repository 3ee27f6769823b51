//! All orders in which the messages of a program can be received: it is run once in each.

use std::process::Termination;
use std::sync::Arc;

use rankfold::World;
use rankfold::testing::{Explore, Explored, FoundBy, MessageOrder};

use crate::failed::Failed;
use crate::launch::{Main, Program};
use crate::report;

impl Program {
    /// Runs the program in every order in which its receives from any source, and its waits for any of several requests,
    /// can take what is there; where these are too many, in a thousand of them and another hundred that are drawn from
    /// seeds. What a run leaves behind, such as a message that is never received, is a failure here.
    ///
    /// Statics outlive a run: a program whose choices depend on them cannot be explored.
    ///
    /// # Errors
    ///
    /// The first failure, with the order that repeats it.
    ///
    /// # Panics
    ///
    /// Panics if the same choices lead to other choices when they are repeated, see [`Explore::find_by`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold_mpi::Program;
    ///
    /// let explored = Program::new(3).explore(|| {})?;
    /// assert_eq!(explored.to_string(), "1 order, complete");
    /// # Ok::<(), rankfold_mpi::Failed>(())
    /// ```
    pub fn explore<T: Termination>(
        &self,
        main: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<Explored, Failed> {
        let main = Arc::new(main);
        self.explore_by(move |_| {
            let main = main.clone();
            Ok(move || main())
        })
    }

    /// The same with a program that is prepared for each run, whose number is passed.
    ///
    /// # Errors
    ///
    /// As [`explore`](Program::explore), and those of the preparation.
    pub fn explore_by<T: Termination, M: Fn() -> T + Send + Sync + 'static>(
        &self,
        mut prepare: impl FnMut(u64) -> Result<M, String>,
    ) -> Result<Explored, Failed> {
        let mut number = 0;
        // `run_strictly` looks for what is left.
        let found = Explore::new(self.ranks)
            .lenient()
            .world(|_| self.world.clone())
            .find_by(|world| {
                let main = prepare(number).map_err(Failed::new)?;
                number += 1;
                run_strictly(self, world, &(Arc::new(move || main().report()) as Main))
            });
        found.map_err(|found| told(&found))
    }
}

/// Runs one order.
pub(crate) fn repeat(program: &Program, order: &MessageOrder, main: Main) -> Result<(), Failed> {
    let explore = Explore::new(program.ranks)
        .lenient()
        .world(|_| program.world.clone());
    let repeated = explore.repeat_by(order, |world| run_strictly(program, world, &main));
    repeated.map_err(|found| told(&found))
}

/// Runs once; what is left behind is a failure.
fn run_strictly(program: &Program, world: &World, main: &Main) -> Result<(), Failed> {
    let ended = program.once(world, main)?;
    let all: Vec<String> = ended.why.into_iter().chain(ended.left).collect();
    match all.is_empty() {
        true => Ok(()),
        false => Err(Failed {
            text: all.join("\n"),
            code: ended.code,
        }),
    }
}

/// A failure, the choices that led to it, and how to repeat them.
fn told(found: &FoundBy<Failed>) -> Failed {
    let after = match found.after {
        0 => "in this order:".to_string(),
        1 => "after 1 run that went well, in this order:".into(),
        more => format!("after {more} runs that went well, in this order:"),
    };
    let mut text = format!("{}\n{after}", found.error);
    for choice in &found.choices {
        text.push_str(&report::choice(choice));
    }
    text += &format!("\nseed {} repeats this run", found.order);
    Failed {
        text,
        code: found.error.code(),
    }
}
